/**
 * Cuts the held-out calibration sample out of a longer capture: keys and values of the layers of the default capture,
 * for tokens that the default capture does not hold. No queries: nothing is ever evaluated on these tokens.
 *
 *   tsx --tsconfig ../../tsconfig.base.json --conditions @lowbit-kv/source scripts/cut-calibration-sample.ts LONG_CAPTURE
 */
import { argv } from 'node:process';
import { fileURLToPath } from 'node:url';
import { defaultCapturePath, openCapture, writeSafetensors } from '../src/index.js';

const FIRST = 1024;
const LAST = 1535;
const target = fileURLToPath(
  new URL('../data/smollm2-135m-calibration.safetensors', import.meta.url),
);

const [, , path] = argv;
if (path === undefined) throw new Error('usage: cut-calibration-sample.ts LONG_CAPTURE');
const short = await openCapture(defaultCapturePath());
const long = await openCapture(path);
if (short.tokens !== FIRST || long.tokens <= LAST) {
  throw new Error(`the long capture must hold tokens 0..${LAST}; it holds ${long.tokens}`);
}

const tensors = [];
for (const layer of short.layers) {
  const wide = await long.readLayer(layer);
  const evaluated = await short.readLayer(layer);
  for (const part of ['key', 'value'] as const) {
    const headDim = part === 'key' ? long.keyHeadDim : long.valueHeadDim;
    // The same model and text, or the sample would not be of the data it is for.
    const overlap = cut(wide[part], long.tokens, headDim, 0, FIRST);
    if (!overlap.every((bits, i) => bits === evaluated[part][i])) {
      throw new Error(`layer ${layer}: the ${part}s of both captures differ`);
    }
    tensors.push({
      name: `layers.${layer}.${part}`,
      dtype: 'F16' as const,
      shape: [1, long.kvHeads, LAST - FIRST + 1, headDim],
      data: cut(wide[part], long.tokens, headDim, FIRST, LAST + 1),
    });
  }
}
await writeSafetensors(target, tensors, {
  format: 'lowbit-kv-calibration',
  version: '1',
  layers: JSON.stringify(short.layers),
  positions: `${FIRST}..${LAST}`,
  model: long.provenance.model ?? '',
  text: 'WikiText-2 raw test split (CC BY-SA 3.0), no BOS',
});
await short.close();
await long.close();

/** Tokens `first` to `end` of `[kvHeads, tokens, headDim]`, as a new array. */
function cut(source: Uint16Array, tokens: number, headDim: number, first: number, end: number) {
  const heads = source.length / (tokens * headDim);
  const width = (end - first) * headDim;
  const result = new Uint16Array(heads * width);
  for (let head = 0; head < heads; head++) {
    const from = (head * tokens + first) * headDim;
    result.set(source.subarray(from, from + width), head * width);
  }
  return result;
}
