// A language model writes in Node, its keys and values in packed blocks: tokens in, logits out, sample, again.
//
//   node generate.js FOLDER "The Loire is"
import { pathToFileURL } from 'node:url';
import { createPlan, referenceBackend } from '@lowbit-kv/core';
import {
  createSampler,
  openCutDecoder,
  openModelFiles,
  openTokenizer,
  openTokenRun,
} from '@lowbit-kv/model-onnx';
import { kivi } from '@lowbit-kv/scheme-kivi';

// 4 bits; at most the newest 32 tokens stay f16.
const SCHEME = kivi({ bits: 4, residualLength: 32 });

/**
 * Gives the text piece by piece to `write`, and says in the end what the cache holds.
 *
 * @param {string} folder config.json, tokenizer.json and onnx/model.onnx, as on the hub
 * @param {string} prompt
 * @param {{ maxTokens: number, write: (text: string) => void }} options
 */
export async function generate(folder, prompt, { maxTokens, write }) {
  const tokenizer = await openTokenizer(folder);
  // Cut at its attention: everything else of the model runs in ONNX Runtime, keys and values go into our cache.
  const decoder = await openCutDecoder(await openModelFiles(folder));
  const plan = createPlan(SCHEME, decoder.geometry);
  let next = tokenizer.encode(prompt);
  const tokens = next.length + maxTokens;
  const run = await openTokenRun(decoder, plan, { backend: referenceBackend(), tokens });
  const sample = createSampler({ temperature: 0 });
  const text = tokenizer.createTextStream();
  try {
    for (let made = 0; made < maxTokens; made++) {
      let token = -1;
      // One step of the cache: the whole prompt first, then one token at a time.
      await run.extend(next, {
        rows: 'last',
        onLogits: (_, logits) => {
          token = sample(logits);
        },
      });
      if (tokenizer.eosIds.includes(token)) break;
      write(text.push(token));
      next = [token];
    }
    write(text.flush());
    const { bytes, sequences } = await run.stats();
    const { layers, kvHeads, keyHeadDim, valueHeadDim } = decoder.geometry;
    return {
      tokens: run.length,
      /** Codes, parameters and f16 windows, without the slots of pages that are free still. */
      bytes: bytes.live - bytes.alignment,
      f16Bytes: run.length * layers * kvHeads * (keyHeadDim + valueHeadDim) * 2,
      /** Packed tokens, of keys and of values. */
      packed: sequences[0]?.classes.map((counts) => counts.packed) ?? [],
    };
  } finally {
    await run.dispose();
    await decoder.dispose();
  }
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  const [
    folder = '../../fixtures/tiny-decoder',
    prompt = 'The Loire is the longest river in France. ',
  ] = process.argv.slice(2);
  const write = (/** @type {string} */ piece) => process.stdout.write(piece);
  const { tokens, bytes, f16Bytes } = await generate(folder, prompt, { maxTokens: 60, write });
  console.error(`\n${tokens} tokens in ${bytes} bytes; f16 would take ${f16Bytes}`);
}
