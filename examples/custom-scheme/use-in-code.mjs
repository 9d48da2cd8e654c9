// The scheme of my-scheme.js in a program: register, append, attend, snapshot, restore.
import { createLowbitKv, f32Tensor } from '@lowbit-kv/core';
import myScheme from './my-scheme.js';

const kv = createLowbitKv({ schemes: [myScheme] });

// What the model's config.json says: here two layers, four query heads on two kv heads.
const [layers, queryHeads, kvHeads, headDim] = [2, 4, 2, 64];
const plan = kv.plan(myScheme.id, {
  layers,
  queryHeads,
  kvHeads,
  keyHeadDim: headDim,
  valueHeadDim: headDim,
});

const cache = await kv.createCache(plan, { capacity: { tokens: 1024, sequences: 2 } });
const sequence = cache.createSequence();

// A prompt of 200 tokens: keys and values of every layer, [tokens, kvHeads, headDim].
const prompt = 200;
await cache.append(
  [{ sequence, tokens: prompt }],
  Array.from({ length: layers }, (_, layer) => ({
    key: wave([prompt, kvHeads, headDim], layer),
    value: wave([prompt, kvHeads, headDim], layer + 0.5),
  })),
);

// One decoding step is a transaction over all layers.
const step = cache.step([{ sequence, tokens: 1 }]);
const query = wave([1, queryHeads, headDim], 9);
for (let layer = 0; layer < layers; layer++) {
  step.append(
    layer,
    wave([1, kvHeads, headDim], layer + 7),
    wave([1, kvHeads, headDim], layer + 8),
  );
  const { output } = await step.attend(layer, query).read();
  console.log(`layer ${layer}: attention output [${output.shape}] starts ${head(output.data)}`);
}
await step.commit();

// A snapshot holds the packed bytes as they are; a restored sequence attends exactly alike.
const snapshot = await cache.snapshot([sequence]);
const [restored] = await cache.restore(snapshot);
if (restored === undefined) throw new Error('the snapshot held no sequence');
const before = await cache.attend(0, query, [sequence]).read();
const after = await cache.attend(0, query, [restored]).read();
const same = before.output.data.every((value, i) => value === after.output.data[i]);

const { bytes, sequences } = await cache.stats();
for (const { tensor, sinks, packed, tail } of sequences[0]?.classes ?? [])
  console.log(`${tensor}s: ${sinks} sinks and ${tail} newest tokens in f16, ${packed} packed`);
console.log(`memory: ${bytes.codes} bytes of codes, ${bytes.parameters} of parameters`);
console.log(
  `snapshot: ${snapshot.length} bytes, restored ${same ? 'exactly' : 'WITH DIFFERENCES'}`,
);
cache.dispose();
if (!same) process.exitCode = 1;

/**
 * Stands in for a model: smooth values that differ in every place.
 * @param {number[]} shape
 * @param {number} phase
 */
function wave(shape, phase) {
  const length = shape.reduce((product, size) => product * size, 1);
  return f32Tensor(
    Float32Array.from({ length }, (_, i) => Math.sin(0.37 * i + phase) + 0.1 * Math.cos(i * i)),
    shape,
  );
}

/** @param {ArrayLike<number>} data */
function head(data) {
  return Array.from({ length: 3 }, (_, i) => (data[i] ?? Number.NaN).toFixed(4)).join(', ');
}
