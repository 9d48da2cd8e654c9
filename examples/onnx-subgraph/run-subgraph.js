// Attention over packed keys and values as an ONNX file: written to disk, and run by a plain ONNX Runtime.
//
//   node run-subgraph.js attention.onnx
import { writeFile } from 'node:fs/promises';
import { pathToFileURL } from 'node:url';
import { exportOnnx } from '@lowbit-kv/backend-onnx';
import { createCache, createPlan, encodeF16, f32Tensor, referenceBackend } from '@lowbit-kv/core';
import { kivi } from '@lowbit-kv/scheme-kivi';
import * as ort from 'onnxruntime-node';

const GEOMETRY = { layers: 1, queryHeads: 8, kvHeads: 2, keyHeadDim: 64, valueHeadDim: 64 };
const TOKENS = 300;

/** @param {string} file where the attention graph goes */
export async function runSubgraph(file) {
  const plan = createPlan(kivi({ bits: 4 }), GEOMETRY);
  await writeFile(file, exportOnnx(plan, { layer: 0 }).attention);

  // What some program has packed. Blocks are bytes; they could have come over a network.
  const cache = await createCache(plan, referenceBackend(), { capacity: { tokens: TOKENS } });
  const sequence = cache.createSequence();
  const { kvHeads, queryHeads, keyHeadDim } = GEOMETRY;
  await cache.append(
    [{ sequence, tokens: TOKENS }],
    [
      {
        key: wave([TOKENS, kvHeads, keyHeadDim], 1),
        value: wave([TOKENS, kvHeads, keyHeadDim], 2),
      },
    ],
  );
  const query = wave([1, queryHeads, keyHeadDim], 3);

  // From here on only the file, the blocks, and ONNX Runtime.
  const session = await ort.InferenceSession.create(file);
  const outputs = await session.run({
    query: new ort.Tensor('float32', query.data, query.shape),
    query_positions: integers([TOKENS - 1]),
    positions: integers(rising(TOKENS)),
    ...(await streamFeeds(cache, sequence, 'key')),
    ...(await streamFeeds(cache, sequence, 'value')),
  });
  await session.release();

  const reference = await cache.attend(0, query, [sequence], { logSumExp: true }).read();
  cache.dispose();
  return {
    /** `[queries, queryHeads, valueHeadDim]`. */
    shape: outputs.output.dims,
    difference: largestDifference(outputs.output, reference.output),
    logSumExpDifference: largestDifference(outputs.log_sum_exp, reference.logSumExp),
    inputs: session.inputNames,
  };
}

/**
 * Packed blocks as they are, the other tokens as f16, and where each token lies: first the f16 tokens, then the slots of all
 * blocks.
 *
 * @param {import('@lowbit-kv/core').Cache} cache
 * @param {import('@lowbit-kv/core').Sequence} sequence
 * @param {'key' | 'value'} tensor
 */
async function streamFeeds(cache, sequence, tensor) {
  const layout = /** @type {import('@lowbit-kv/core').BlockLayout} */ (
    cache.plan.layers[0][tensor].layout
  );
  const blocks = await cache.exportBlocks(sequence, 0, tensor);
  const slots = new Map(
    blocks.flatMap(({ position, validTokens }, block) =>
      rising(validTokens).map((slot) => [position + slot, block * layout.blockTokens + slot]),
    ),
  );
  const loose = rising(sequence.length).filter((position) => !slots.has(position));
  const { [tensor]: rows } = await cache.materialize(sequence, 0);
  const [, heads, dim] = rows.shape;
  const f16 = loose.flatMap((i) => [...rows.data.subarray(i * heads * dim, (i + 1) * heads * dim)]);
  const index = rising(sequence.length).map((position) => {
    const slot = slots.get(position);
    return slot === undefined ? loose.indexOf(position) : loose.length + slot;
  });
  const pages = new Uint8Array(blocks.length * layout.pageBytes);
  for (const [i, { bytes }] of blocks.entries()) pages.set(bytes, i * layout.pageBytes);
  return {
    [`${tensor}_index`]: integers(index),
    [`${tensor}_tokens`]: new ort.Tensor('float16', encodeF16(Float32Array.from(f16)), [
      loose.length,
      heads,
      dim,
    ]),
    [`${tensor}_pages`]: new ort.Tensor('uint8', pages, [blocks.length, layout.pageBytes]),
  };
}

/** @param {readonly number[]} values */
function integers(values) {
  return new ort.Tensor('int64', BigInt64Array.from(values, BigInt), [values.length]);
}

/** @param {number} count */
function rising(count) {
  return Array.from({ length: count }, (_, i) => i);
}

/** Stands for keys, values and queries of a model. @param {number[]} shape @param {number} seed */
function wave(shape, seed) {
  const size = shape.reduce((product, length) => product * length, 1);
  return f32Tensor(
    Float32Array.from({ length: size }, (_, i) => Math.sin(seed + i * 0.37)),
    shape,
  );
}

/** @param {ort.Tensor} actual @param {import('@lowbit-kv/core').HostTensor | undefined} expected */
function largestDifference({ data }, expected) {
  const values = Array.from(/** @type {Float32Array} */ (data));
  return Math.max(...values.map((value, i) => Math.abs(value - (expected?.data[i] ?? Number.NaN))));
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  const file = process.argv[2] ?? 'attention.onnx';
  const { shape, difference, inputs } = await runSubgraph(file);
  console.log(`${file} takes ${inputs.join(', ')}`);
  console.log(`attention output [${shape}], at most ${difference} from the reference`);
}
