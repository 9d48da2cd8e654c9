// Calls of the device fail, one at a time: the error says so, nothing has changed, the program goes on, no buffer is left.
import { LowbitKvError } from '@lowbit-kv/core';
import { fixedProgram, fixedSetup, runProgram } from '@lowbit-kv/core/programs';
import { createDraws } from '@lowbit-kv/core/testing';
import { afterAll, describe, expect, it, vi } from 'vitest';
import { webgpuBackend } from '../src/index.js';
import { FaultyDevice } from './support/faulty-device.js';

vi.setConfig({ testTimeout: 600_000 });

/** How long, and at least how many calls; all of them with LOWBIT_KV_EVERY_CALL=1. */
const SECONDS = 4;
const LEAST = 6;
/** Pipelines, then memory: the first calls are made once for a cache. */
const FIRST = 17;

const setup = fixedSetup();
const faulty = await FaultyDevice.open();
afterAll(() => faulty.device.destroy());

/** Runs the program on a backend of its own; gives its calls and how many faults it met. */
async function run(at: number): Promise<{ readonly calls: number; readonly faults: number }> {
  const backend = webgpuBackend({ device: faulty.device });
  const { calls } = faulty;
  let faults = 0;
  faulty.arm(at);
  await runProgram(backend, setup, fixedProgram, {
    isFault: (error) => {
      if (at === 0 || !LowbitKvError.is(error, 'BACKEND_FAILED')) return false;
      expect(error.message).toMatch(/put in|mapAsync failed|pipeline cannot be made/);
      expect(error.next).not.toBe('');
      faults++;
      return true;
    },
  });
  backend.dispose();
  expect(faulty.alive).toEqual([]);
  return { calls: faulty.calls - calls, faults };
}

describe('calls of the device that fail', () => {
  it('leave what the model says, and the cache usable', async () => {
    const { calls, faults } = await run(0);
    expect(faults).toBe(0);
    expect(calls).toBeGreaterThan(100);
    const every = process.env.LOWBIT_KV_EVERY_CALL === '1';
    const seed = Number(process.env.LOWBIT_KV_SEED ?? Date.now() % 2 ** 31);
    const draw = createDraws(seed);
    const begin = performance.now();
    const met = new Set<number>();
    for (let round = 0; every ? round < calls : inTime(round); round++) {
      const at = every ? round + 1 : 1 + (round % 3 === 0 ? draw() % FIRST : draw() % calls);
      try {
        if ((await run(at)).faults > 0) met.add(at);
      } catch (error) {
        throw new Error(`call ${at} of ${calls}, seed ${seed}`, { cause: error });
      }
    }
    console.info(`faults of a WebGPU device: seed ${seed}, ${met.size} of ${calls} calls`);
    expect(met.size).toBeGreaterThanOrEqual(LEAST / 3);
    function inTime(runs: number): boolean {
      return runs < LEAST || performance.now() - begin < 1000 * SECONDS;
    }
  });
});
