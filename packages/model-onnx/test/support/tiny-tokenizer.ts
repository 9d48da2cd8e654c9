/**
 * Tokenizers small enough to read: byte-level BPE as GPT-2 has it, and BPE with byte fallback as Llama 2 has it.
 */
import type { TokenizerFiles } from '../../src/text/tokenizer-files.js';

const SPECIAL = ['<|bos|>', '<|eos|>', '<|turn|>'];

/** Byte-level BPE: ids 0 to 255 are bytes, then merges, then special tokens. */
export function byteLevelTokenizer(
  merges: readonly (readonly [string, string])[] = [
    ['t', 'h'],
    ['th', 'e'],
    ['Ġ', 'the'],
  ],
): TokenizerFiles {
  const symbols = byteSymbols();
  const tokens = [...symbols, ...merges.map(([left, right]) => left + right)];
  return {
    tokenizerJson: {
      version: '1.0',
      added_tokens: addedTokens(tokens.length),
      normalizer: null,
      pre_tokenizer: { type: 'ByteLevel', add_prefix_space: false, use_regex: true },
      post_processor: bosInFront(tokens.length),
      decoder: { type: 'ByteLevel' },
      model: {
        type: 'BPE',
        vocab: Object.fromEntries(tokens.map((token, id) => [token, id])),
        merges: merges.map(([left, right]) => `${left} ${right}`),
      },
    },
    tokenizerConfig: { bos_token: '<|bos|>', eos_token: { content: '<|eos|>' }, unk_token: null },
  };
}

/** BPE over `▁` words with `<0xNN>` bytes; the decoder takes the first space away. */
export function byteFallbackTokenizer(): TokenizerFiles {
  const bytes = Array.from(
    { length: 256 },
    (_, byte) => `<0x${byte.toString(16).toUpperCase().padStart(2, '0')}>`,
  );
  const tokens = ['<unk>', ...bytes, '▁', 'a', 'b', '▁a', '▁b', 'ab'];
  return {
    tokenizerJson: {
      version: '1.0',
      added_tokens: addedTokens(tokens.length),
      normalizer: {
        type: 'Sequence',
        normalizers: [
          { type: 'Prepend', prepend: '▁' },
          { type: 'Replace', pattern: { String: ' ' }, content: '▁' },
        ],
      },
      pre_tokenizer: null,
      post_processor: bosInFront(tokens.length),
      decoder: {
        type: 'Sequence',
        decoders: [
          { type: 'Replace', pattern: { String: '▁' }, content: ' ' },
          { type: 'ByteFallback' },
          { type: 'Fuse' },
          { type: 'Strip', content: ' ', start: 1, stop: 0 },
        ],
      },
      model: {
        type: 'BPE',
        byte_fallback: true,
        unk_token: '<unk>',
        vocab: Object.fromEntries(tokens.map((token, id) => [token, id])),
        merges: ['▁ a', '▁ b', 'a b'],
      },
    },
    tokenizerConfig: { bos_token: '<|bos|>', eos_token: '<|eos|>', unk_token: '<unk>' },
  };
}

function addedTokens(first: number) {
  return SPECIAL.map((content, i) => ({
    id: first + i,
    content,
    single_word: false,
    lstrip: false,
    rstrip: false,
    normalized: false,
    special: true,
  }));
}

function bosInFront(id: number) {
  return {
    type: 'TemplateProcessing',
    single: [
      { SpecialToken: { id: '<|bos|>', type_id: 0 } },
      { Sequence: { id: 'A', type_id: 0 } },
    ],
    pair: [],
    special_tokens: { '<|bos|>': { id: '<|bos|>', ids: [id], tokens: ['<|bos|>'] } },
  };
}

/** One printable character a byte: printable Latin-1 stands for itself, the rest is moved up from U+0100. */
function byteSymbols(): string[] {
  const printable = (byte: number) =>
    (byte > 32 && byte < 127) || (byte > 160 && byte < 256 && byte !== 173);
  let moved = 0;
  return Array.from({ length: 256 }, (_, byte) =>
    String.fromCharCode(printable(byte) ? byte : 256 + moved++),
  );
}
