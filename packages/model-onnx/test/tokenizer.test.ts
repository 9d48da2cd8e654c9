/**
 * Encoding, decoding and streaming over tiny tokenizers, and what damaged files give.
 */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterEach, describe, expect, it } from 'vitest';
import { openTokenizer } from '../src/text/tokenizer.js';
import type { TokenizerFiles } from '../src/text/tokenizer-files.js';
import { byteFallbackTokenizer, byteLevelTokenizer } from './support/tiny-tokenizer.js';

const BOS = 259;
const EOS = 260;

const folders: string[] = [];
afterEach(async () => {
  for (const folder of folders.splice(0)) await rm(folder, { recursive: true });
});

async function folderOf(files: Readonly<Record<string, unknown>>): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'lowbit-kv-tokenizer-'));
  folders.push(folder);
  for (const [name, value] of Object.entries(files)) {
    const text = typeof value === 'string' ? value : JSON.stringify(value);
    await writeFile(join(folder, name), text);
  }
  return folder;
}

describe('encode and decode', () => {
  it('merges in order of rank and adds BOS only when asked', async () => {
    const tokenizer = await openTokenizer(byteLevelTokenizer());
    // "the" and " the" are tokens 257 and 258; "!" is its byte.
    expect(tokenizer.encode('the the!')).toEqual([257, 258, 33]);
    expect(tokenizer.encode('the', { special: true })).toEqual([BOS, 257]);
    expect(tokenizer.encode('')).toEqual([]);
    expect(tokenizer.vocabularySize).toBe(262);
  });

  it('leaves special tokens out of text unless asked, and skips padding of the vocabulary', async () => {
    const tokenizer = await openTokenizer(byteLevelTokenizer());
    const ids = [BOS, 257, 5000, EOS];
    expect(tokenizer.decode(ids)).toBe('the');
    expect(tokenizer.decode(ids, { special: true })).toBe('<|bos|>the<|eos|>');
    expect(tokenizer.decode([])).toBe('');
    expect(() => tokenizer.decode([-1])).toThrow(/OPTION_INVALID: not a token id; got -1/);
    expect(() => tokenizer.decode([1.5])).toThrow(/OPTION_INVALID/);
  });

  it('gives every text back byte for byte, spaces before punctuation included', async () => {
    const tokenizer = await openTokenizer(byteLevelTokenizer());
    expect(tokenizer.decode(tokenizer.encode("it 's , the . end ?"))).toBe("it 's , the . end ?");
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (text) => {
        expect(tokenizer.decode(tokenizer.encode(text))).toBe(text);
      }),
    );
  });

  it('says which special tokens there are and which ids end a text', async () => {
    const files = byteLevelTokenizer();
    const plain = await openTokenizer(files);
    expect(plain.specialTokens).toEqual({
      bos: '<|bos|>',
      eos: '<|eos|>',
      pad: null,
      unknown: null,
    });
    expect(plain.eosIds).toEqual([EOS]);
    const more = await openTokenizer({
      ...files,
      generationConfig: { eos_token_id: [261, 7] },
      config: { text_config: { eos_token_id: 9 } },
    });
    expect(more.eosIds).toEqual([7, 9, EOS, 261]);
  });
});

describe('the text stream', () => {
  const tokenizers: readonly [string, () => TokenizerFiles][] = [
    ['byte level', byteLevelTokenizer],
    ['byte fallback', byteFallbackTokenizer],
  ];

  it('holds the bytes of a character back until it is whole', async () => {
    const tokenizer = await openTokenizer(byteLevelTokenizer());
    const stream = tokenizer.createTextStream();
    const euro = [...new TextEncoder().encode('a€b')];
    expect(euro.map((id) => stream.push(id))).toEqual(['a', '', '', '€', 'b']);
    expect(stream.flush()).toBe('');
  });

  it('gives broken bytes as one replacement, at once when they cannot become a character', async () => {
    const tokenizer = await openTokenizer(byteLevelTokenizer());
    const stream = tokenizer.createTextStream();
    expect([0xe2, 0x82, 0x41].map((id) => stream.push(id))).toEqual(['', '', '\uFFFDA']);
    expect([0xf0, 0x9f].map((id) => stream.push(id))).toEqual(['', '']);
    expect(stream.flush()).toBe('\uFFFD');
    expect(stream.push(257)).toBe('the');
  });

  it('keeps the space before a word after a special token', async () => {
    const tokenizer = await openTokenizer(byteFallbackTokenizer());
    const ids = [...tokenizer.encode('a'), 263, ...tokenizer.encode('b a')];
    const stream = tokenizer.createTextStream();
    expect(ids.map((id) => stream.push(id))).toEqual(['a', '', ' b', ' a']);
  });

  it.each(tokenizers)('joined is the text of all ids, for any ids (%s)', async (_, files) => {
    const tokenizer = await openTokenizer(files());
    const id = fc.integer({ min: 0, max: tokenizer.vocabularySize - 1 });
    fc.assert(
      fc.property(fc.array(id, { maxLength: 40 }), fc.boolean(), (ids, special) => {
        const stream = tokenizer.createTextStream({ special });
        const parts = ids.map((one) => stream.push(one));
        parts.push(stream.flush());
        expect(parts.join('')).toBe(tokenizer.decode(ids, { special }));
      }),
      { numRuns: 500 },
    );
  });

  it.each(tokenizers)('never gives a part of a character (%s)', async (_, files) => {
    const tokenizer = await openTokenizer(files());
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme' }), (text) => {
        fc.pre(!text.includes('\uFFFD'));
        const stream = tokenizer.createTextStream();
        const parts = tokenizer.encode(text).map((id) => stream.push(id));
        expect(parts.join('')).not.toContain('\uFFFD');
        expect(parts.join('') + stream.flush()).toBe(text);
      }),
    );
  });
});

describe('a folder', () => {
  it('is opened with what it has', async () => {
    const { tokenizerJson, tokenizerConfig } = byteLevelTokenizer();
    const folder = await folderOf({
      'tokenizer.json': tokenizerJson,
      'tokenizer_config.json': tokenizerConfig,
      'generation_config.json': { eos_token_id: 3 },
    });
    const tokenizer = await openTokenizer(folder);
    expect(tokenizer.eosIds).toEqual([3, EOS]);
    expect(tokenizer.encode('the')).toEqual([257]);
  });

  it.each([
    ['no tokenizer.json', { 'tokenizer_config.json': {} }, 'tokenizer.json is missing'],
    ['no tokenizer_config.json', { 'tokenizer.json': {} }, 'tokenizer_config.json is missing'],
    [
      'half of a file',
      { 'tokenizer.json': '{"model": ', 'tokenizer_config.json': {} },
      'tokenizer.json is not JSON',
    ],
    [
      'a file of something else',
      { 'tokenizer.json': { hello: 1 }, 'tokenizer_config.json': {} },
      'does not describe a tokenizer',
    ],
    [
      'a config that is no object',
      { 'tokenizer.json': {}, 'tokenizer_config.json': [] },
      'tokenizer_config.json: the file is not valid',
    ],
    [
      'an eos token of a wrong type',
      { 'tokenizer.json': {}, 'tokenizer_config.json': { eos_token: 5 } },
      'tokenizer_config.json: eos_token is not valid',
    ],
    [
      'a damaged generation_config.json',
      { 'tokenizer.json': {}, 'tokenizer_config.json': {}, 'generation_config.json': '' },
      'generation_config.json is not JSON',
    ],
  ])('with %s is refused', async (_, files, message) => {
    const folder = await folderOf(files);
    await expect(openTokenizer(folder)).rejects.toMatchObject({
      code: 'TOKENIZER_INVALID',
      message: expect.stringContaining(message),
      next: expect.stringMatching(/^[A-Z].*\.$/),
    });
  });

  it('that does not exist is refused', async () => {
    await expect(openTokenizer('/nowhere/at/all')).rejects.toThrow(/TOKENIZER_INVALID.*missing/);
  });
});

it.each([-1, 0.5, 2 ** 31, '5', null])('refuses a vocabulary with the id %j', async (id) => {
  const { tokenizerJson, tokenizerConfig } = byteLevelTokenizer();
  const whole = JSON.parse(JSON.stringify(tokenizerJson));
  const word = { ...whole, model: { ...whole.model, vocab: { ...whole.model.vocab, the: id } } };
  const added = { ...whole, added_tokens: [{ ...whole.added_tokens[0], id }] };
  for (const damaged of [word, added])
    await expect(openTokenizer({ tokenizerJson: damaged, tokenizerConfig })).rejects.toThrow(
      /TOKENIZER_INVALID: tokenizer.json: /,
    );
});

it('refuses an eos token that no token is, and text without a token for it', async () => {
  const files = byteLevelTokenizer();
  const eos = { ...files, tokenizerConfig: { eos_token: '<|nothing|>' } };
  await expect(openTokenizer(eos)).rejects.toThrow(/eos token .* is not in tokenizer.json/);
  const words = await openTokenizer({
    tokenizerJson: {
      added_tokens: [],
      normalizer: null,
      pre_tokenizer: { type: 'WhitespaceSplit' },
      post_processor: null,
      decoder: null,
      model: { type: 'WordLevel', vocab: { one: 0, two: 1 }, unk_token: '<unk>' },
    },
    tokenizerConfig: {},
  });
  expect(words.encode('two one')).toEqual([1, 0]);
  expect(() => words.encode('two three')).toThrow(/TOKENIZER_INVALID: .*token 1 of 2/);
  expect(() => words.encode(5 as unknown as string)).toThrow(/OPTION_INVALID/);
});
