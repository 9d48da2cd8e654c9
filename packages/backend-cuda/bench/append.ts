/**
 * Packing through the public API on the card of this machine, microseconds a layer: a prompt of 32K tokens in one append, and a
 * decode step of eight sequences, single tokens in 32 layers.
 * Run in the workspace: pnpm bench-cuda-append [--images=FOLDER]
 */
import { createCache, createPlan } from '@lowbit-kv/core';
import { asymmetric, inlineScheme } from '@lowbit-kv/core/testing';
import { cudaTensor, DeviceMemory, Event } from '../src/index.js';
import { benchBackend } from './bench-backend.js';

const HEADS = 8;
const DIM = 128;
const PROMPT = 32 * 1024;
const ROUNDS = 9;
const STEP_SEQUENCES = 8;
const STEP_LAYERS = 32;
const STEPS = 160;

const backend = benchBackend();
const { context, stream } = await backend.open();
console.log(`${context.device.properties.name}; microseconds of the card a layer, median`);

const memory = DeviceMemory.allocate(context, 2 * PROMPT * HEADS * DIM);
const halves = Uint16Array.from(
  { length: PROMPT * HEADS * DIM },
  (_, i) => 0x3000 + ((i * 2654435761) >>> 21),
);
memory.all.upload(new Uint8Array(halves.buffer));
const rowsOf = (tokens: number) =>
  cudaTensor(memory.all, { type: 'f16', shape: [tokens, HEADS, DIM] });

function planOf(bits: 2 | 4, size: 32 | 128, layers: number) {
  const scheme = inlineScheme({
    key: asymmetric(bits, 'tokens', size, { recent: 0, flush: 128 }),
    value: asymmetric(bits, 'channels', size, { recent: 128, flush: 1 }),
    packing: 'after-attention',
  });
  const geometry = { layers, queryHeads: 32, kvHeads: HEADS, keyHeadDim: DIM, valueHeadDim: DIM };
  return createPlan(scheme, geometry, { blockTokens: 128 });
}

const median = (values: number[]) => values.sort((a, b) => a - b)[values.length >> 1]!;
const from = Event.create(context, { timing: true });
const to = Event.create(context, { timing: true });

/** What the card is busy with while the host enqueues: some milliseconds. */
const ahead = DeviceMemory.allocate(context, 8e9);

/** Of what `work` enqueues, as if all of it was there at once. */
function elapsed(work: () => void): number {
  ahead.all.fill(stream, 0);
  from.record(stream);
  work();
  to.record(stream);
  to.synchronize();
  return 1000 * to.millisecondsSince(from);
}

for (const [bits, size] of [
  [4, 128],
  [4, 32],
  [2, 128],
  [2, 32],
] as const) {
  const prompts = await createCache(planOf(bits, size, 1), backend, {
    capacity: { sequences: 1, tokens: PROMPT + 256 },
    nonFinite: 'mask',
  });
  const times: number[] = [];
  for (let round = 0; round < ROUNDS; round++) {
    const sequence = prompts.createSequence();
    const step = prompts.step([{ sequence, tokens: PROMPT }]);
    times.push(elapsed(() => step.append(0, rowsOf(PROMPT), rowsOf(PROMPT))));
    await step.commit();
    prompts.disposeSequence(sequence);
  }
  prompts.dispose();

  const steps = await createCache(planOf(bits, size, STEP_LAYERS), backend, {
    capacity: { sequences: STEP_SEQUENCES, tokens: STEP_SEQUENCES * 1024 },
    nonFinite: 'mask',
  });
  const sequences = Array.from({ length: STEP_SEQUENCES }, () => steps.createSequence());
  const append = async (tokens: number) => {
    const step = steps.step(sequences.map((sequence) => ({ sequence, tokens })));
    const rows = rowsOf(tokens * STEP_SEQUENCES);
    const start = performance.now();
    let host = 0;
    const time = elapsed(() => {
      for (let layer = 0; layer < STEP_LAYERS; layer++) step.append(layer, rows, rows);
      host = 1000 * (performance.now() - start);
    });
    await step.commit();
    return [time / STEP_LAYERS, host / STEP_LAYERS] as const;
  };
  await append(300);
  const decode: (readonly [number, number])[] = [];
  for (let step = 0; step < STEPS; step++) decode.push(await append(1));
  steps.dispose();
  const [card, host] = [0, 1].map((i) => median(decode.map((pair) => pair[i]!)).toFixed(1));
  console.log(
    `${bits} bit g${size}: prompt of 32K ${median(times).toFixed(1)}; step of ${STEP_SEQUENCES} sequences ${card} (the host enqueues in ${host})`,
  );
}
backend.dispose();
