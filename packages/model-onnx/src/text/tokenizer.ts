/**
 * Text to token ids and back, as a model's own tokenizer.json says.
 */
import { Tokenizer as HubTokenizer } from '@huggingface/tokenizers';
import { LowbitKvError } from '@lowbit-kv/core';
import { isTimeout, TimeLimit } from '../time-limit.js';
import { TextStream } from './text-stream.js';
import {
  checkVocabularyIds,
  configuredEosIds,
  readTokenizerFiles,
  type SpecialTokens,
  specialTokens,
  type TokenizerFiles,
  tokenizerError,
} from './tokenizer-files.js';

export interface EncodeOptions {
  /** Adds what the tokenizer puts around a text (BOS, EOS). Default false: ids of the text alone. */
  readonly special?: boolean;
}

export interface DecodeOptions {
  /** Writes special tokens out. Default false: they give no text. */
  readonly special?: boolean;
}

/** Of a text, for the patterns of tokenizer.json: real ones take a millisecond for some thousand characters. */
const LEAST_MILLISECONDS = 1000;
const MILLISECONDS_PER_CHARACTER = 0.1;

/** Made by `openTokenizer`. */
export class Tokenizer {
  /** One more than the largest id that has a token. A model's logits may be wider. */
  readonly vocabularySize: number;
  /** Ids that end a text, ascending: of generation_config.json, config.json and the eos token. */
  readonly eosIds: readonly number[];
  readonly specialTokens: SpecialTokens;
  readonly #library: HubTokenizer;
  readonly #limit = new TimeLimit();

  /** @internal */
  constructor(files: TokenizerFiles) {
    this.specialTokens = specialTokens(files.tokenizerConfig);
    checkVocabularyIds(files.tokenizerJson);
    this.#library = createLibraryTokenizer(files);
    this.eosIds = eosIdsOf(this.#library, this.specialTokens.eos, files);
    let size = 0;
    for (const id of this.#library.get_vocab(true).values()) size = Math.max(size, id + 1);
    this.vocabularySize = size;
  }

  /**
   * Special tokens that are written out in the text become their ids in any case. Line ends are kept: text files with CRLF
   * give other ids than with LF. Time grows linearly with the text: a pattern of tokenizer.json that takes long for it is
   * stopped. Throws TOKENIZER_INVALID.
   */
  encode(text: string, options: EncodeOptions = {}): number[] {
    if (typeof text !== 'string') throw optionError('encode takes text', typeof text, 'a string');
    let ids: readonly unknown[];
    try {
      const special = { add_special_tokens: options.special === true };
      ids = this.#limit.within(
        () => this.#library.encode(text, special).ids,
        limitFor(text.length),
      );
    } catch (cause) {
      throw isTimeout(cause) ? endless(`${text.length} characters`, cause) : damaged(cause);
    }
    // Unknown words of a vocabulary without an unknown token, or whose unknown token is none of it.
    const bad = ids.findIndex((id) => !this.#isId(id));
    if (bad < 0) return ids as number[];
    throw tokenizerError('the tokenizer has no id for a part of the text', {
      value: `token ${bad} of ${ids.length}`,
      valid: 'a vocabulary with an unknown token, or with all bytes',
    });
  }

  #isId(id: unknown): boolean {
    return Number.isSafeInteger(id) && (id as number) >= 0 && (id as number) < this.vocabularySize;
  }

  /**
   * Exactly the text of the tokens: spaces before punctuation are not tidied away. Ids without a token (models pad their
   * vocabulary) give no text.
   */
  decode(ids: readonly number[], options: DecodeOptions = {}): string {
    const known = ids.filter((id) => this.#library.id_to_token(checkedId(id)) !== undefined);
    if (known.length === 0) return '';
    const taken = {
      skip_special_tokens: options.special !== true,
      clean_up_tokenization_spaces: false,
    };
    try {
      return this.#limit.within(() => this.#library.decode(known, taken), limitFor(known.length));
    } catch (cause) {
      throw isTimeout(cause) ? endless(`${known.length} tokens`, cause) : damaged(cause);
    }
  }

  /** Decodes ids that come one by one. */
  createTextStream(options: DecodeOptions = {}): TextStream {
    return new TextStream((ids) => this.decode(ids, options));
  }
}

/**
 * Opens the tokenizer of a model folder (tokenizer.json and tokenizer_config.json; generation_config.json and config.json
 * are read where they are), or of parsed files. Throws TOKENIZER_INVALID.
 */
export async function openTokenizer(source: string | TokenizerFiles): Promise<Tokenizer> {
  return new Tokenizer(typeof source === 'string' ? await readTokenizerFiles(source) : source);
}

function createLibraryTokenizer(files: TokenizerFiles): HubTokenizer {
  try {
    return new HubTokenizer(files.tokenizerJson as object, files.tokenizerConfig as object);
  } catch (cause) {
    throw damaged(cause);
  }
}

function limitFor(length: number): number {
  return Math.ceil(LEAST_MILLISECONDS + MILLISECONDS_PER_CHARACTER * length);
}

function endless(value: string, cause: unknown): LowbitKvError {
  return tokenizerError(
    'the patterns of tokenizer.json do not end in time',
    {
      value,
      valid: `${LEAST_MILLISECONDS} ms, and ${MILLISECONDS_PER_CHARACTER} ms a character`,
      cause,
    },
    'Take tokenizer.json from the hub repository of the model; on a machine that is busy, run it again.',
  );
}

function damaged(cause: unknown): LowbitKvError {
  return tokenizerError('tokenizer.json does not describe a tokenizer that can be used', {
    value: cause instanceof Error ? cause.message : String(cause),
    valid: 'a tokenizer.json of the tokenizers library, whole and of types that it reads',
    cause,
  });
}

function eosIdsOf(library: HubTokenizer, eosToken: string | null, files: TokenizerFiles): number[] {
  const ids = new Set(configuredEosIds(files));
  if (eosToken !== null) {
    const id = library.token_to_id(eosToken);
    if (id === undefined) {
      throw tokenizerError('the eos token of tokenizer_config.json is not in tokenizer.json', {
        value: eosToken,
        valid: 'a token of the vocabulary',
      });
    }
    ids.add(id);
  }
  return [...ids].sort((a, b) => a - b);
}

function checkedId(id: number): number {
  if (Number.isSafeInteger(id) && id >= 0) return id;
  throw optionError('not a token id', id, 'an integer of at least 0');
}

function optionError(message: string, value: unknown, valid: string): LowbitKvError {
  const next = 'Correct the argument.';
  return new LowbitKvError('OPTION_INVALID', { message, value, valid, next });
}
