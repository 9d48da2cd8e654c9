// Packed bytes of random plans and histories are those of the reference. The script compare-drawn-plans does it longer.
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { webgpuBackend } from '../src/index.js';
import { comparePacked, drawnCases, packingDevice } from './support/drawn-plans.js';

const TIME_LIMIT_MS = 20_000;

it('packs random plans like the reference', { timeout: 10 * TIME_LIMIT_MS }, async () => {
  const device = await packingDevice();
  const backend = webgpuBackend({ device });
  let [plans, blocks] = [0, 0];
  const seed = Date.now() & 0x7fffffff;
  console.log(`seed ${seed}`);
  await fc.assert(
    fc.asyncProperty(drawnCases(backend), async (drawn) => {
      blocks += await comparePacked(drawn, backend);
      plans++;
    }),
    { seed, numRuns: 40, interruptAfterTimeLimit: TIME_LIMIT_MS, endOnFailure: true, verbose: 1 },
  );
  device.destroy();
  // A slow machine may stop early, but never before it has done a part.
  expect(plans).toBeGreaterThan(5);
  expect(blocks).toBeGreaterThan(plans);
});
