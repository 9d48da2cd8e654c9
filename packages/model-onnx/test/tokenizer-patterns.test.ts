// The regular expressions of tokenizer.json are programs of somebody else: one without an end is stopped, wherever it stands.
import { describe, expect, it } from 'vitest';
import { openTokenizer } from '../src/text/tokenizer.js';
import type { TokenizerFiles } from '../src/text/tokenizer-files.js';
import { byteLevelTokenizer } from './support/tiny-tokenizer.js';

/** Takes 2^n steps for n times `a` and another character. */
const ENDLESS = { Regex: '(a+)+$' };
const TEXT = `${'a'.repeat(60)}!`;

function withParts(parts: Readonly<Record<string, unknown>>): TokenizerFiles {
  const files = byteLevelTokenizer();
  return { ...files, tokenizerJson: { ...(files.tokenizerJson as object), ...parts } };
}

const split = { type: 'Split', pattern: ENDLESS, behavior: 'Isolated', invert: false };
const byteLevel = { type: 'ByteLevel', add_prefix_space: false, use_regex: false };
const replace = { type: 'Replace', pattern: ENDLESS, content: 'x' };

describe('a pattern without an end', () => {
  it.each([
    ['normalizer', { normalizer: replace }],
    ['pre-tokenizer', { pre_tokenizer: { type: 'Sequence', pretokenizers: [split, byteLevel] } }],
  ])('of the %s', async (_, parts) => {
    const tokenizer = await openTokenizer(withParts(parts));
    const start = performance.now();
    expect(() => tokenizer.encode(TEXT)).toThrow(
      /TOKENIZER_INVALID: the patterns of tokenizer.json do not end in time; got "61 characters"; valid: 1000 ms/,
    );
    expect(performance.now() - start).toBeLessThan(5000);
    // What is no such text is encoded as before.
    expect(tokenizer.encode('b!')).toEqual([98, 33]);
  });

  it('of the decoder', async () => {
    const parts = { decoder: { type: 'Sequence', decoders: [{ type: 'Fuse' }, replace] } };
    const tokenizer = await openTokenizer(withParts(parts));
    const ids = [...new TextEncoder().encode(TEXT)];
    expect(() => tokenizer.decode(ids)).toThrow(/TOKENIZER_INVALID: the patterns .*"61 tokens"/);
    expect(tokenizer.decode([98])).toBe('b');
  });
});

it('patterns of real tokenizers are not stopped, on the texts that they are slowest on', async () => {
  const llama3 =
    "(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}{1,3}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+";
  const pattern = { ...split, pattern: { Regex: llama3 } };
  const tokenizer = await openTokenizer(
    withParts({ pre_tokenizer: { type: 'Sequence', pretokenizers: [pattern, byteLevel] } }),
  );
  for (const text of [' '.repeat(2000), '\n '.repeat(1000), 'a '.repeat(1000), '! '.repeat(1000)])
    expect(tokenizer.decode(tokenizer.encode(text))).toBe(text);
});
