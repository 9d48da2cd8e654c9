/** The files of a tokenizer, one of them changed; then texts are encoded and decoded. */
import { openTokenizer } from '@lowbit-kv/model-onnx';
import {
  byteFallbackTokenizer,
  byteLevelTokenizer,
} from '../../../../packages/model-onnx/test/support/tiny-tokenizer.js';
import { joined } from '../mutate/bytes.js';
import { mutateJson } from '../mutate/json.js';
import { mustHold, type Target } from '../target.js';
import { Scratch } from './scratch.js';

const NAMES = ['tokenizer.json', 'tokenizer_config.json', 'generation_config.json', 'config.json'];
const GENERATION = { eos_token_id: [2, 260], pad_token_id: 0 };
const MODEL = { model_type: 'llama', eos_token_id: 2, text_config: { eos_token_id: [1] } };
const SEEDS = [byteLevelTokenizer(), byteFallbackTokenizer(), wordPiece(), unigram()].map(
  ({ tokenizerJson, tokenizerConfig }) => [tokenizerJson, tokenizerConfig, GENERATION, MODEL],
);
const TEXTS = ['', 'the <|eos|> then ab a b', 'é😀\r\n\0 123 constructor __proto__', '  a'];
/** Steps of these patterns grow with a power of the length of such a text, or exponentially. */
const PATTERNS = [
  '(a+)+$',
  '(a|a)*b',
  '(?:\\w*\\s?)*!!',
  '(.*a){20}x',
  'a*a*a*a*a*a*b',
  '(?=(a+)+b)c',
];
const LONG_TEXT = `${'a'.repeat(60)}!`;

export const tokenizer: Target = {
  name: 'tokenizer',
  codes: ['TOKENIZER_INVALID'],
  // A pattern is given one.
  seconds: 2,
  async open() {
    const scratch = new Scratch('tokenizer');
    return {
      mutant(random) {
        const seed = random.below(SEEDS.length);
        // Each takes its second.
        if (random.chance(0.005)) {
          const { tokenizerJson } = unigram(random.pick(PATTERNS));
          return joined(
            Uint8Array.of(3, 0),
            new TextEncoder().encode(JSON.stringify(tokenizerJson)),
          );
        }
        const file = random.chance(0.7) ? 0 : random.below(NAMES.length);
        return joined(Uint8Array.of(seed, file), mutateJson(random, SEEDS[seed]?.[file]));
      },
      async check(mutant) {
        const [seed = 0, changed = 0] = mutant;
        for (const [i, name] of NAMES.entries()) {
          const whole = JSON.stringify(SEEDS[seed % SEEDS.length]?.[i]);
          scratch.write(name, i === changed ? mutant.subarray(2) : whole);
        }
        const opened = await openTokenizer(scratch.folder);
        const { vocabularySize, eosIds } = opened;
        mustHold(Number.isSafeInteger(vocabularySize), `vocabulary of ${vocabularySize}`);
        mustHold(
          eosIds.every((id, i) => Number.isSafeInteger(id) && id > (eosIds[i - 1] ?? -1)),
          `ends of text ${eosIds}`,
        );
        const isSlow = PATTERNS.some((pattern) =>
          new TextDecoder().decode(mutant).includes(JSON.stringify(pattern)),
        );
        for (const text of isSlow ? [LONG_TEXT] : TEXTS) {
          const ids = opened.encode(text, { special: true });
          mustHold(
            ids.every((id) => Number.isSafeInteger(id) && id >= 0 && id < vocabularySize),
            `ids ${ids} of a vocabulary of ${vocabularySize}`,
          );
          mustHold(typeof opened.decode(ids, { special: true }) === 'string', 'text is no text');
          const stream = opened.createTextStream();
          for (const id of ids) mustHold(typeof stream.push(id) === 'string', 'stream gives text');
        }
      },
      close: async () => scratch.remove(),
    };
  },
};

function wordPiece() {
  const vocab = Object.fromEntries(
    ['[UNK]', '[CLS]', 'the', 'a', 'b', '##b', '##n'].map((token, id) => [token, id]),
  );
  return {
    tokenizerJson: {
      added_tokens: [{ id: 0, content: '[UNK]', special: true }],
      normalizer: { type: 'BertNormalizer', lowercase: true, clean_text: true },
      pre_tokenizer: { type: 'BertPreTokenizer' },
      post_processor: null,
      decoder: { type: 'WordPiece', prefix: '##', cleanup: false },
      model: {
        ...{ type: 'WordPiece', unk_token: '[UNK]', continuing_subword_prefix: '##', vocab },
        max_input_chars_per_word: 100,
      },
    },
    tokenizerConfig: { unk_token: '[UNK]' },
  };
}

function unigram(pattern = ' +') {
  return {
    tokenizerJson: {
      added_tokens: [{ id: 0, content: '<unk>', special: true }],
      normalizer: { type: 'Precompiled', precompiled_charsmap: '' },
      pre_tokenizer: {
        type: 'Sequence',
        pretokenizers: [
          { type: 'Split', pattern: { Regex: pattern }, behavior: 'Isolated', invert: false },
          { type: 'Metaspace', replacement: '▁', prepend_scheme: 'always', split: true },
        ],
      },
      post_processor: null,
      decoder: { type: 'Metaspace', replacement: '▁', prepend_scheme: 'always' },
      model: {
        ...{ type: 'Unigram', unk_id: 0 },
        vocab: ['<unk>', '▁', 'a', 'b', '▁a', 'the'].map((token, i) => [token, -i]),
      },
    },
    tokenizerConfig: { eos_token: '<unk>', unk_token: '<unk>' },
  };
}
