// Greedy generation with a decoder of the hub, its past_key_values packed between the steps.
//
//   node loop.js FOLDER 84 104 101
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { kivi } from '@lowbit-kv/scheme-kivi';
import * as ort from 'onnxruntime-node';
import { PackedPast } from './packed-past.js';

/**
 * @param {string} folder config.json and onnx/model.onnx, as on the hub
 * @param {readonly number[]} prompt token ids
 * @param {number} maxTokens
 * @param {import('@lowbit-kv/core').Scheme} scheme
 */
export async function generate(
  folder,
  prompt,
  maxTokens,
  scheme = kivi({ bits: 4, residualLength: 32 }),
) {
  const config = JSON.parse(await readFile(join(folder, 'config.json'), 'utf8'));
  const heads = config.num_attention_heads;
  const headDim = config.head_dim ?? config.hidden_size / heads;
  const geometry = {
    layers: config.num_hidden_layers,
    queryHeads: heads,
    kvHeads: config.num_key_value_heads ?? heads,
    keyHeadDim: headDim,
    valueHeadDim: headDim,
  };
  const session = await ort.InferenceSession.create(join(folder, 'onnx/model.onnx'));
  const past = await PackedPast.create(scheme, geometry, prompt.length + maxTokens);
  const made = [];
  let next = [...prompt];
  while (made.length < maxTokens) {
    const total = past.length + next.length;
    const outputs = await session.run({
      input_ids: integers(next),
      attention_mask: integers(Array(total).fill(1)),
      ...(session.inputNames.includes('position_ids') && {
        position_ids: integers(next.map((_, i) => past.length + i)),
      }),
      ...(await past.feeds()), // past_key_values of this step alone
    });
    await past.keep(outputs); // what this step added
    next = [largest(outputs.logits)];
    made.push(...next);
  }
  const report = {
    tokens: made,
    length: past.length,
    bytes: await past.bytes(),
    f32Bytes: past.length * geometry.layers * geometry.kvHeads * headDim * 2 * 4,
  };
  past.dispose();
  await session.release();
  return report;
}

/** @param {readonly number[]} values */
function integers(values) {
  return new ort.Tensor('int64', BigInt64Array.from(values, BigInt), [1, values.length]);
}

/** @param {ort.Tensor} logits `[1, tokens, vocabulary]`; of the last token */
function largest({ data, dims: [, tokens, vocabulary] }) {
  const last = /** @type {Float32Array} */ (data).subarray((tokens - 1) * vocabulary);
  return last.indexOf(Math.max(...last));
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  const [folder = '../../fixtures/tiny-decoder', ...ids] = process.argv.slice(2);
  const prompt =
    ids.length > 0 ? ids.map(Number) : Array.from({ length: 100 }, (_, i) => (i * 7) % 256);
  const { tokens, length, bytes, f32Bytes } = await generate(folder, prompt, 60);
  console.log(tokens.join(' '));
  console.log(
    `${length} tokens in ${bytes} bytes between steps; past_key_values would take ${f32Bytes}`,
  );
}
