// Tokens and positions that a model does not have are refused before anything runs.
import { LowbitKvError } from '@lowbit-kv/core';
import { describe, expect, it } from 'vitest';
import { openCutDecoder } from '../src/decoder/cut-decoder.js';
import { openUncut } from '../src/decoder/uncut.js';
import { openInjectedDecoder } from '../src/inject/injected-decoder.js';
import { noTokens } from '../src/inject/token-rows.js';
import { modelFromBytes } from '../src/model/model-files.js';
import { modelBytes } from './support/graph-writer.js';
import { tinyDecoder } from './support/tiny-decoders.js';
import { groupQuery } from './support/tiny-group-query.js';

const CONTEXT = 12;
const files = modelFromBytes({
  model: modelBytes(tinyDecoder(groupQuery()).model),
  config: { max_position_embeddings: CONTEXT, num_attention_heads: 4 },
});
const notCalled = () => {
  throw new Error('nothing runs');
};

const FAULTS: readonly [string, readonly number[], RegExp][] = [
  ['no tokens', [], /there are no tokens/],
  ['a token beyond the vocabulary', [1, 50], /got 50; valid: integers from 0 to 49/],
  ['half a token', [1.5], /got 1\.5/],
  ['more tokens than the context', Array(CONTEXT + 1).fill(1), /got 13; valid: at most 12/],
];

describe.each(FAULTS)('%s', (_, tokens, message) => {
  const refused = async (run: () => Promise<unknown>) => {
    const error = await run().then(notCalled, (reason: unknown) => reason);
    expect(LowbitKvError.is(error, 'OPTION_INVALID')).toBe(true);
    expect((error as Error).message).toMatch(message);
  };

  it('of a cut decoder', async () => {
    const decoder = await openCutDecoder(files, { threads: 1 });
    expect(decoder.contextLimit).toBe(CONTEXT);
    await refused(() => decoder.forward(tokens, { position: 0, attend: notCalled }));
    await decoder.dispose();
  });

  it('of the uncut model', async () => {
    const uncut = await openUncut(files, { threads: 1 });
    await refused(() => uncut.logits(tokens, notCalled));
    await uncut.dispose();
  });

  it('of an injected one', async () => {
    const decoder = await openInjectedDecoder(files, { threads: 1 });
    await refused(() => decoder.forward(tokens, noTokens(decoder.layers.length)));
    await decoder.dispose();
  });
});

it('positions count: a step that goes past the context is refused', async () => {
  const decoder = await openCutDecoder(files, { threads: 1 });
  const run = (position: number) => decoder.forward([1, 2], { position, attend: notCalled });
  await expect(run(CONTEXT - 1)).rejects.toThrow(/got 13/);
  await expect(run(-1)).rejects.toThrow(/position of the first token/);
  await expect(run(CONTEXT - 2)).rejects.toThrow('nothing runs');
  await decoder.dispose();
});
