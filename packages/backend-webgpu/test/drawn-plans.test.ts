// Packed bytes of random plans and histories are those of the reference. The script compare-drawn-plans does it longer.
import fc from 'fast-check';
import { expect, it } from 'vitest';
import {
  comparePacked,
  type DrawnCase,
  drawnCases,
  packingBackend,
  packingDevice,
} from './support/drawn-plans.js';

const TIME_LIMIT_MS = 10_000;

it('packs random plans like the reference', { timeout: 20 * TIME_LIMIT_MS }, async () => {
  const device = await packingDevice();
  const backend = packingBackend(device);
  let [plans, blocks] = [0, 0];
  const seed = Date.now() & 0x7fffffff;
  console.log(`seed ${seed}`);
  const compare = (runs: fc.Parameters<[DrawnCase]>) =>
    fc.assert(
      fc.asyncProperty(drawnCases(backend), async (drawn) => {
        blocks += await comparePacked(drawn, backend);
        plans++;
      }),
      { endOnFailure: true, verbose: 1, ...runs },
    );
  // A slow machine may stop early, but never before it has done a part.
  await compare({ seed, numRuns: 6 });
  await compare({ seed: seed + 1, numRuns: 14, interruptAfterTimeLimit: TIME_LIMIT_MS });
  device.destroy();
  expect(plans).toBeGreaterThan(5);
  expect(blocks).toBeGreaterThan(plans);
});
