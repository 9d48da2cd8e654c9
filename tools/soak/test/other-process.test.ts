// Snapshots restored in another process hold what was here.
import { referenceBackend } from '@lowbit-kv/core';
import { afterAll, expect, it } from 'vitest';
import { OtherProcess } from '../src/other-process.js';

const other = new OtherProcess();
afterAll(() => other.close());

it('of drawn plans, filled, cut and forked', async () => {
  const seed = Number(process.env.LOWBIT_KV_SEED ?? Date.now() % 2 ** 31);
  let sequences = 0;
  for (let i = 0; i < 8; i++) sequences += await other.check(referenceBackend(), seed + i);
  expect(sequences).toBeGreaterThanOrEqual(8);
}, 60_000);
