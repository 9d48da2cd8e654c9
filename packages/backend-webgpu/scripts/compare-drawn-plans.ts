/**
 * Compares packed bytes of many random plans with the reference's, on SwiftShader: `compare-drawn-plans.ts [plans] [seed]`.
 */
import fc from 'fast-check';
import {
  comparePacked,
  drawnCases,
  packingBackend,
  packingDevice,
} from '../test/support/drawn-plans.js';

const plans = Number(process.argv[2] ?? 500);
const seed = Number(process.argv[3] ?? Date.now() & 0x7fffffff);
const device = await packingDevice();
let backend = packingBackend(device);
console.log(`${plans} plans, seed ${seed}`);
let [done, blocks] = [0, 0];
try {
  await fc.assert(
    fc.asyncProperty(drawnCases(backend), async (drawn) => {
      blocks += await comparePacked(drawn, backend);
      // Pipelines are kept as long as the backend.
      if (++done % 50 === 0) {
        backend = packingBackend(device);
        console.log(`${done} plans, ${blocks} blocks equal`);
      }
    }),
    { seed, numRuns: plans, endOnFailure: true },
  );
} finally {
  device.destroy();
}
console.log(`${done} plans, ${blocks} blocks: every byte equal`);
