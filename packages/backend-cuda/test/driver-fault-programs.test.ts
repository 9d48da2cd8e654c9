// Calls of the driver fail, one at a time: the error says so, nothing has changed, the program goes on, nothing is left.
import { LowbitKvError } from '@lowbit-kv/core';
import { fixedProgram, fixedSetup, runProgram } from '@lowbit-kv/core/programs';
import { createDraws } from '@lowbit-kv/core/testing';
import { describe, expect, it } from 'vitest';
import type { CudaFunctionName } from '../src/driver/functions.js';
import { RESULT } from '../src/driver/results.js';
import { hostBackend } from './support/host-backend.js';
import { compiler } from './support/pack/host-program.js';

/** How long, and at least how many calls; all of them with LOWBIT_KV_EVERY_CALL=1. */
const SECONDS = 3;
const LEAST = 8;
/** That free, that tell of errors, and that everything begins with. */
const SPARED = /Free|Destroy|Unload|GetError|Ctx|cuInit|cuDevice|cuDriver|cuPointer/;

const setup = fixedSetup();

interface Outcome {
  readonly calls: readonly CudaFunctionName[];
  readonly codes: readonly string[];
  readonly leaks: readonly string[];
}

/** Runs the program on a backend of its own. */
async function run(fault?: { name: CudaFunctionName; later: number; result: number }) {
  const { backend, fake, close } = hostBackend();
  const codes: string[] = [];
  await backend.open();
  fake.takeCalls();
  if (fault !== undefined) fake.failNext(fault.name, fault.result, fault.later);
  await runProgram(backend, setup, fixedProgram, {
    isFault: (error) => {
      if (fault === undefined || !LowbitKvError.is(error)) return false;
      codes.push(error.code);
      expect(error.next).not.toBe('');
      expect(error.message).toContain(fault.name);
      return true;
    },
  });
  const calls = fake.takeCalls();
  return { calls, codes, leaks: close() } satisfies Outcome;
}

describe.skipIf(compiler === undefined)('calls of the driver that fail', () => {
  it('leave what the model says, and the cache usable', async () => {
    const clean = await run();
    expect(clean.codes).toEqual([]);
    const counts = new Map<CudaFunctionName, number>();
    const places = clean.calls.flatMap((name) => {
      const later = (counts.get(name) ?? 0) + 1;
      counts.set(name, later);
      return SPARED.test(name) ? [] : [{ name, later }];
    });
    const every = process.env.LOWBIT_KV_EVERY_CALL === '1';
    const seed = Number(process.env.LOWBIT_KV_SEED ?? Date.now() % 2 ** 31);
    const draw = createDraws(seed);
    const begin = performance.now();
    let told = 0;
    let rounds = 0;
    while (
      every ? rounds < places.length : rounds < LEAST || performance.now() - begin < 1000 * SECONDS
    ) {
      const place = places[every ? rounds : draw() % places.length];
      if (place === undefined) break;
      rounds++;
      try {
        const { codes, leaks } = await run({ ...place, result: RESULT.OUT_OF_MEMORY });
        expect(leaks).toEqual([]);
        if (codes.length > 0) told++;
      } catch (error) {
        throw new Error(`call ${place.later} of ${place.name}, seed ${seed}`, { cause: error });
      }
    }
    console.info(
      `faults of a driver: seed ${seed}, ${rounds} of ${places.length} calls, ${told} told`,
    );
    expect(told).toBeGreaterThan(LEAST / 2);
  }, 120_000);
});
