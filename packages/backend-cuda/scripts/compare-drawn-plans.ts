/**
 * Packed bytes and attention of many random plans on the card of this machine against the reference: every second one takes a kernel
 * of the instance table. Run in the workspace:
 * pnpm compare-on-cuda [plans] [seed]
 */
import { LowbitKvError } from '@lowbit-kv/core';
import { createTwin, F32_ATTENTION, INTEGER_ATTENTION } from '@lowbit-kv/core/contract';
import { createDraws } from '@lowbit-kv/core/testing';
import { cudaBackend } from '../src/index.js';
import { drawnPlans } from '../test/support/general/drawn-plans.js';
import { drawnInstancePlan } from './instance-plans.js';

const count = Number(process.argv[2] ?? 500);
const seed = Number(process.argv[3] ?? Date.now() & 0x7fffffff);
const backend = cudaBackend();
const { context, image } = await backend.open();
console.log(
  `${context.device.properties.name}, kernels ${image.name}: ${count} plans, seed ${seed}`,
);

const draw = createDraws(seed);
let [done, blocks, bandwidth, overfull] = [0, 0, 0, 0];
for (const [index, drawn] of drawnPlans(2 * count, seed).entries()) {
  if (done === count) break;
  const plan = index % 2 === 0 ? drawn : drawnInstancePlan(draw);
  const support = backend.supports(plan);
  if (support.kind === 'refused') throw new Error(`plan ${index}: ${support.reasons.join('; ')}`);
  const isFast = support.kernels.some(({ speed }) => speed !== 'general');
  const tolerances = isFast ? INTEGER_ATTENTION : F32_ATTENTION;
  const twin = await createTwin(plan, backend, { tokens: 3072, sequences: 2, tolerances });
  try {
    const [a, b] = [twin.createPair(), twin.createPair()];
    await twin.step([
      { pair: a, tokens: (isFast ? 500 : 150) + (draw() % 250) },
      { pair: b, tokens: 1 + (draw() % 60) },
    ]);
    for (let step = 0; step < 4; step++) {
      await twin.step([
        { pair: a, tokens: 1 + (draw() % 3) * (draw() % 40) },
        { pair: b, tokens: 1 },
      ]);
    }
    for (const pair of [a, b]) blocks += await twin.compareBlocks(pair);
    done++;
    bandwidth += Number(isFast);
  } catch (error) {
    // The reference comes first: data that its plan has no room for is no plan to compare.
    if (LowbitKvError.is(error) && error.code === 'OUTLIER_CAPACITY') {
      overfull++;
      continue;
    }
    console.log(`plan ${index} of seed ${seed}: ${JSON.stringify(plan.scheme)}`);
    throw error;
  } finally {
    twin.dispose();
  }
}
backend.dispose();
if (done < count) throw new Error(`only ${done} plans had room for their outliers`);
console.log(
  `${done} plans (${bandwidth} on kernels of their own; ${overfull} more had more outliers than room), ${blocks} blocks: every byte equal`,
);
