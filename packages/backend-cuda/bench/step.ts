/**
 * Whole decode steps of small batches on the card of this machine: append and attention of 32 layers as a captured step, microseconds
 * of the card a layer, tables included, median over steps. 32 query and 8 kv heads of dim 128, 4 bit g128.
 * Run in the workspace: pnpm bench-cuda-step [--images=FOLDER]
 */
import { createPlan } from '@lowbit-kv/core';
import { asymmetric, inlineScheme } from '@lowbit-kv/core/testing';
import { cudaTensor, DeviceMemory, Event } from '../src/index.js';
import { benchBackend } from './bench-backend.js';
import { fillCache } from './filled-cache.js';

const LAYERS = 32;
const QUERY_HEADS = 32;
const KV_HEADS = 8;
const DIM = 128;
const STEPS = 200;

const backend = benchBackend();
const { context, stream } = await backend.open();
const scheme = inlineScheme({
  key: asymmetric(4, 'tokens', 128, { recent: 0, flush: 128 }),
  value: asymmetric(4, 'channels', 128, { recent: 128, flush: 1 }),
  packing: 'after-attention',
});
const geometry = { layers: LAYERS, queryHeads: QUERY_HEADS, kvHeads: KV_HEADS, keyHeadDim: DIM };
const plan = createPlan(scheme, { ...geometry, valueHeadDim: DIM }, { blockTokens: 128 });
/** What the card is busy with while the host enqueues: some milliseconds. */
const ahead = DeviceMemory.allocate(context, 8e9);
const median = (values: number[]) => values.sort((a, b) => a - b)[values.length >> 1]!;

console.log(
  `${context.device.properties.name}; microseconds a layer of a step, median of ${STEPS}`,
);
for (const [batch, tokens] of [
  [1, 8192],
  [1, 32_768],
  [8, 8192],
] as const) {
  const lengths = Array.from({ length: batch }, (_, i) => tokens - 37 * (i + 1));
  const filled = await fillCache(backend, plan, lengths);
  const memory = DeviceMemory.allocate(context, 8 * batch * QUERY_HEADS * DIM);
  memory.all.fill(stream, 0x11);
  const given = (type: 'f16' | 'f32', heads: number) =>
    cudaTensor(memory.all, { type, shape: [batch, heads, DIM] });
  const into = {
    output: cudaTensor(memory.range(4 * batch * QUERY_HEADS * DIM, 4 * batch * QUERY_HEADS * DIM), {
      type: 'f32',
      shape: [batch, QUERY_HEADS, DIM],
    }),
  };
  const captured = await backend.captureStep({ rows: batch, tokens: batch * (tokens + 1024) });
  const [from, to] = [0, 1].map(() => Event.create(context, { timing: true }));
  const times: number[] = [];
  for (let number = 0; number < STEPS; number++) {
    const step = filled.cache.step(filled.sequences.map((sequence) => ({ sequence, tokens: 1 })));
    ahead.all.fill(stream, 0);
    from!.record(stream);
    captured.run(() => {
      for (let layer = 0; layer < LAYERS; layer++) {
        step.append(layer, given('f16', KV_HEADS), given('f16', KV_HEADS));
        step.attend(layer, given('f16', QUERY_HEADS), { into });
      }
    });
    to!.record(stream);
    await step.commit();
    if (number > 0) times.push((1000 * to!.millisecondsSince(from!)) / LAYERS);
  }
  console.log(`batch ${batch}, ${tokens} tokens: ${median(times).toFixed(1)}`);
  captured.dispose();
  filled.dispose();
  memory.dispose();
}
backend.dispose();
