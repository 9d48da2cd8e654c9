// One context in two caches on two backends: each attends to its part, and the parts are merged by their log-sum-exp.
import { pathToFileURL } from 'node:url';
import { onnxBackend } from '@lowbit-kv/backend-onnx';
import { createLowbitKv, f32Tensor, mergeAttention } from '@lowbit-kv/core';
import { blockFormat } from '@lowbit-kv/scheme-baselines';

const GEOMETRY = { layers: 1, queryHeads: 8, kvHeads: 2, keyHeadDim: 64, valueHeadDim: 64 };
const TOKENS = 200;
// A document that many conversations share, and what this conversation adds.
const DOCUMENT = 160;

export async function attendInParts() {
  // Every token is packed alone: a context may be cut anywhere.
  const scheme = blockFormat({ keys: 'q4_0', values: 'q4_0' });
  const kv = createLowbitKv({ schemes: [scheme], backends: [onnxBackend()] });
  const plan = kv.plan(scheme.id, GEOMETRY);

  /** @param {string} backend @param {number} from @param {number} to */
  async function hold(backend, from, to) {
    const cache = await kv.createCache(plan, { backend, capacity: { tokens: to - from } });
    const sequence = cache.createSequence();
    const layer = { key: rows(1, 2, from, to), value: rows(2, 2, from, to) };
    await cache.append([{ sequence, tokens: to - from }], [layer]);
    return {
      /** @param {import('@lowbit-kv/core').HostTensor} query */
      async attend(query) {
        const parts = await cache.attend(0, query, [sequence], { logSumExp: true }).read();
        // There because it was asked for.
        return /** @type {import('@lowbit-kv/core').PartialAttention} */ (parts);
      },
      dispose: () => cache.dispose(),
    };
  }

  const document = await hold('onnx', 0, DOCUMENT);
  const conversation = await hold('reference', DOCUMENT, TOKENS);
  const whole = await hold('reference', 0, TOKENS);

  const query = rows(3, 8, TOKENS - 1, TOKENS);
  const parts = await Promise.all([document.attend(query), conversation.attend(query)]);
  const merged = mergeAttention(parts);
  const expected = await whole.attend(query);
  for (const held of [document, conversation, whole]) held.dispose();
  return { parts, merged, expected };
}

/**
 * Stands for what a model computes of tokens `from` to `to`: `[tokens, heads, 64]`. Keys come after the rotary embedding: they
 * carry their positions, and no cache has to know them.
 *
 * @param {number} seed @param {number} heads @param {number} from @param {number} to
 */
function rows(seed, heads, from, to) {
  const width = heads * 64;
  const data = Float32Array.from({ length: (to - from) * width }, (_, i) =>
    Math.sin(seed + (from * width + i) * 0.37),
  );
  return f32Tensor(data, [to - from, heads, 64]);
}

/** @param {import('@lowbit-kv/core').HostTensor} a @param {import('@lowbit-kv/core').HostTensor} b */
export function largestDifference(a, b) {
  return Math.max(...Array.from(a.data, (value, i) => Math.abs(value - b.data[i])));
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  const { parts, merged, expected } = await attendInParts();
  const share = Math.exp(parts[0].logSumExp.data[0] - merged.logSumExp.data[0]);
  console.log(`the document has ${(100 * share).toFixed(1)} % of the attention of head 0`);
  console.log(
    `merged and whole differ by at most ${largestDifference(merged.output, expected.output)}`,
  );
}
