/**
 * Every kernel of the instance table on the card of this machine, against the reference: bytes of pages, attention within its
 * tolerance, also for inputs that are made to break it; then a thousand decode steps as a graph against steps outside of one.
 * Run in the workspace: pnpm check-cuda [--kernels=text of their names, or graph for the steps alone] [--images=FOLDER]
 */
import {
  createCache,
  createPlan,
  f16Tensor,
  f32ToF16,
  type Plan,
  type Sequence,
} from '@lowbit-kv/core';
import { createTwin, INTEGER_ATTENTION } from '@lowbit-kv/core/contract';
import { asymmetric, createDraws, inlineScheme } from '@lowbit-kv/core/testing';
import { benchBackend } from '../bench/bench-backend.js';
import { hasBands } from '../src/choose-instance.js';
import { type CudaBackend, cudaTensor, DeviceMemory } from '../src/index.js';
import {
  ADVERSARIAL_INPUTS,
  type AdversarialInput,
  attendAdversarial,
  tolerancesOf,
} from './adversarial-inputs.js';
import { crowdedPlans, instancePlans } from './instance-plans.js';

const STEPS = 1000;

const backend = benchBackend();
const { context, image } = await backend.open();
console.log(`${context.device.properties.name}, kernels ${image.name}`);
let failures = 0;
const plans = instancePlans();
const option = '--kernels=';
const wanted = process.argv.find((argument) => argument.startsWith(option))?.slice(option.length);
for (const [name, plan] of [...plans, ...crowdedPlans()]) {
  if (wanted !== undefined && !name.includes(wanted)) continue;
  try {
    console.log(`${name}: ${await checkPlan(name, plan)}`);
  } catch (error) {
    failures++;
    console.log(`${name} FAILED: ${error instanceof Error ? error.message : error}`);
  }
}
for (const input of ADVERSARIAL_INPUTS) {
  const lines: string[] = [];
  for (const [name, plan] of plans) {
    if (wanted !== undefined && !name.includes(wanted)) continue;
    if (hasBands(plan.layers[0]!.key) && !input.isWithinBands) continue;
    try {
      await checkInput(input, plan);
    } catch (error) {
      failures++;
      lines.push(`  ${name} FAILED: ${error instanceof Error ? error.message : error}`);
    }
  }
  console.log([`${input.name}: ${lines.length} kernels off`, ...lines].join('\n'));
}
if (wanted === undefined || wanted === 'graph') console.log(await checkGraph(backend));
backend.dispose();
console.log(failures === 0 ? 'all as they must be' : `${failures} failed`);
process.exitCode = failures === 0 ? 0 : 1;

async function checkPlan(name: string, plan: Plan): Promise<string> {
  const support = backend.supports(plan);
  if (support.kind === 'refused') throw new Error(support.reasons.join('; '));
  const [kernel] = support.kernels;
  if (kernel?.name !== name) throw new Error(`takes ${kernel?.name}`);
  const twin = await createTwin(plan, backend, { tokens: 2048, tolerances: INTEGER_ATTENTION });
  try {
    const [a, b] = [twin.createPair(), twin.createPair()];
    await twin.step([
      { pair: a, tokens: 501 },
      { pair: b, tokens: 7 },
    ]);
    await twin.step([
      { pair: a, tokens: 1 },
      { pair: b, tokens: 330 },
    ]);
    const fork = twin.fork(a);
    await twin.step([
      { pair: a, tokens: 90 },
      { pair: fork, tokens: 2 },
    ]);
    for (let step = 0; step < 6; step++)
      await twin.step([a, b].map((pair) => ({ pair, tokens: 1 })));
    let blocks = 0;
    for (const pair of [a, b, fork]) blocks += await twin.compareBlocks(pair);
    await twin.step([{ pair: await twin.crossed(fork), tokens: 3 }]);
    return `${blocks} blocks equal`;
  } finally {
    twin.dispose();
  }
}

async function checkInput(input: AdversarialInput, plan: Plan): Promise<void> {
  const tolerances = tolerancesOf(input, plan);
  const twin = await createTwin(plan, backend, { tokens: 1024, tolerances });
  try {
    await attendAdversarial(twin, input);
  } finally {
    twin.dispose();
  }
}

/** Steps of a token for some of eight sequences, each in a graph and outside of one, over two layers. */
async function checkGraph(cuda: CudaBackend): Promise<string> {
  const [layers, sequencesCount, kvHeads, queryHeads, dim] = [2, 8, 2, 8, 128];
  const affine = (along: 'tokens' | 'channels', window: { recent: number; flush: number }) =>
    asymmetric(4, along, 32, window);
  const plan = createPlan(
    inlineScheme({
      key: affine('tokens', { recent: 0, flush: 128 }),
      value: affine('channels', { recent: 128, flush: 1 }),
      packing: 'after-attention',
    }),
    { layers, queryHeads, kvHeads, keyHeadDim: dim, valueHeadDim: dim },
    { blockTokens: 128 },
  );
  const capacity = { sequences: sequencesCount, tokens: sequencesCount * 2048 };
  const caches = [
    await createCache(plan, cuda, { capacity }),
    await createCache(plan, cuda, { capacity }),
  ] as const;
  const sequences = Array.from({ length: sequencesCount }, () =>
    caches.map((cache) => cache.createSequence()),
  );
  const draw = createDraws(9);
  const halves = (count: number) =>
    Uint16Array.from({ length: count }, () => f32ToF16((draw() - 2047.5) / 1182));
  for (const [i, pair] of sequences.entries()) {
    const tokens = 1 + 97 * i;
    const row = () => f16Tensor(halves(tokens * kvHeads * dim), [tokens, kvHeads, dim]);
    const rows = Array.from({ length: layers }, () => ({ key: row(), value: row() }));
    for (const [side, cache] of caches.entries())
      await cache.append([{ sequence: pair[side] as Sequence, tokens }], rows);
  }
  const memory = (heads: number, bytes: number) =>
    DeviceMemory.allocate(context, bytes * sequencesCount * heads * dim);
  const buffers = Array.from({ length: layers }, () => ({
    key: memory(kvHeads, 2),
    value: memory(kvHeads, 2),
    query: memory(queryHeads, 2),
    outputs: [memory(queryHeads, 4), memory(queryHeads, 4)],
  }));
  const captured = await cuda.captureStep({ rows: sequencesCount, tokens: capacity.tokens });
  let worst = 0;
  for (let count = 0; count < STEPS; count++) {
    const active = sequences.filter((_, i) => (count + i) % 5 !== 0);
    for (const { key, value, query } of buffers)
      for (const [range, heads] of [
        [key, kvHeads],
        [value, kvHeads],
        [query, queryHeads],
      ] as const)
        range.all.upload(new Uint8Array(halves(active.length * heads * dim).buffer));
    const given = (range: DeviceMemory, type: 'f16' | 'f32', heads: number) =>
      cudaTensor(range.all, { type, shape: [active.length, heads, dim] });
    for (const [side, cache] of caches.entries()) {
      const step = cache.step(
        active.map((pair) => ({ sequence: pair[side] as Sequence, tokens: 1 })),
      );
      const work = () => {
        for (const [layer, { key, value, query, outputs }] of buffers.entries()) {
          step.append(layer, given(key, 'f16', kvHeads), given(value, 'f16', kvHeads));
          const into = { output: given(outputs[side] as DeviceMemory, 'f32', queryHeads) };
          step.attend(layer, given(query, 'f16', queryHeads), { into });
        }
      };
      if (side === 0) work();
      else captured.run(work);
      await step.commit();
    }
    for (const { outputs } of buffers) {
      const [plain, graph] = outputs.map(
        ({ all }) =>
          new Float32Array(all.range(0, 4 * active.length * queryHeads * dim).download().buffer),
      ) as [Float32Array, Float32Array];
      let [difference, size] = [0, 0];
      for (const [i, value] of plain.entries()) {
        difference += (value - graph[i]!) ** 2;
        size += value ** 2;
      }
      worst = Math.max(worst, Math.sqrt(difference / size));
    }
  }
  const snapshots = await Promise.all(
    caches.map((cache, side) => cache.snapshot(sequences.map((pair) => pair[side] as Sequence))),
  );
  const isEqual = Buffer.from(snapshots[0]!).equals(Buffer.from(snapshots[1]!));
  captured.dispose();
  for (const cache of caches) cache.dispose();
  // Splits differ, so sums do in their last bits.
  if (worst > 1e-3 || !isEqual || !(worst >= 0)) failures++;
  return `${STEPS} ragged steps as a graph: outputs within ${worst.toExponential(1)} of steps outside of one, snapshots ${isEqual ? 'equal' : 'DIFFER'}`;
}
