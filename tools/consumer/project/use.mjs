// Runs in the empty project: registers KIVI and a custom scheme, appends, attends, snapshots and restores.
import assert from 'node:assert/strict';
import { createLowbitKv, f32Tensor } from '@lowbit-kv/core';
import { kivi2 } from '@lowbit-kv/scheme-kivi';
import myScheme from './my-scheme.js';

const [tokens, heads, dim] = [300, 2, 64];
const kv = createLowbitKv({ schemes: [kivi2, myScheme] });
const geometry = {
  layers: 1,
  queryHeads: heads,
  kvHeads: heads,
  keyHeadDim: dim,
  valueHeadDim: dim,
};
const wave = (rows, phase) =>
  Float32Array.from({ length: rows * heads * dim }, (_, i) => Math.sin(0.7 * i * i + phase));
const [key, value, query] = [wave(tokens, 1), wave(tokens, 2), wave(1, 3)];
const exact = exactAttention();

for (const scheme of kv.schemes.list()) {
  const cache = await kv.createCache(kv.plan(scheme.id, geometry), {
    capacity: { tokens: 2 * tokens, sequences: 2 },
  });
  const sequence = cache.createSequence();
  const layer = {
    key: f32Tensor(key, [tokens, heads, dim]),
    value: f32Tensor(value, [tokens, heads, dim]),
  };
  await cache.append([{ sequence, tokens }], [layer]);
  const q = f32Tensor(query, [1, heads, dim]);
  const attend = async (which) => (await cache.attend(0, q, [which]).read()).output.data;
  const output = await attend(sequence);

  // Low bits cost something, but the output is the attention of this cache and no other.
  const error = normalisedError(output, exact);
  assert(error > 1e-7 && error < 0.3, `${scheme.id}: normalised error ${error}`);
  const { bytes, sequences } = await cache.stats();
  assert(bytes.codes > 0);
  assert(sequences[0].classes.every(({ packed }) => packed > 0));

  const [restored] = await cache.restore(await cache.snapshot([sequence]));
  assert.equal(restored.length, tokens);
  assert.deepEqual(await attend(restored), output);
  console.log(`${scheme.id}: normalised error ${error.toExponential(2)}`);
  cache.dispose();
}
console.log(`used ${kv.schemes.list().length} schemes`);

function exactAttention() {
  const output = new Float64Array(heads * dim);
  for (let head = 0; head < heads; head++) {
    const at = (token, i) => (token * heads + head) * dim + i;
    const weights = Array.from({ length: tokens }, (_, token) => {
      let dot = 0;
      for (let i = 0; i < dim; i++) dot += query[at(0, i)] * key[at(token, i)];
      return Math.exp(dot / Math.sqrt(dim));
    });
    const total = weights.reduce((sum, weight) => sum + weight, 0);
    for (let token = 0; token < tokens; token++)
      for (let i = 0; i < dim; i++)
        output[at(0, i)] += (weights[token] / total) * value[at(token, i)];
  }
  return output;
}

function normalisedError(actual, expected) {
  let [error, power] = [0, 0];
  for (let i = 0; i < expected.length; i++) {
    error += (actual[i] - expected[i]) ** 2;
    power += expected[i] ** 2;
  }
  return error / power;
}
