// A fault at every call of the backend interface, in every way: a program goes on, and is what the model says. Every sixth call
// in CI, other ones every time; all of them with LOWBIT_KV_EVERY_CALL=1.
import { expect, it } from 'vitest';
import { referenceBackend } from '../../src/index.js';
import {
  FaultyBackend,
  fixedProgram,
  fixedSetup,
  runProgram,
  runWithFault,
  Tally,
} from '../../src/programs/index.js';

const KINDS = ['before', 'after', 'lost'] as const;

it('of a program with every kind of command', async () => {
  const [setup, backend] = [fixedSetup(), referenceBackend()];
  const counted = new FaultyBackend(backend);
  await runProgram(counted.backend, setup, fixedProgram);
  expect(counted.calls).toBeGreaterThan(200);
  const tally = new Tally();
  const shift = Date.now() % 18;
  const stride = process.env.LOWBIT_KV_EVERY_CALL === '1' ? 1 : 6;
  for (let call = 1 + (shift % stride); call <= counted.calls; call += stride) {
    const kind = KINDS[(Math.floor(call / stride) + shift) % 3] as (typeof KINDS)[number];
    const fault = { call, kind };
    try {
      await runWithFault(backend, { setup, program: fixedProgram, fault }, { tally });
    } catch (cause) {
      throw new Error(`fault ${kind} at call ${call} of ${counted.calls}`, { cause });
    }
  }
  for (const kind of KINDS)
    expect(tally.of(`faults put in (${kind})`)).toBeGreaterThan(counted.calls / 4 / stride);
  expect(tally.of('faults')).toBeGreaterThan(counted.calls / 2 / stride);
}, 120_000);
