/**
 * Reads the text that a model runs over.
 */
import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { basename, resolve } from 'node:path';
import { LowbitKvError } from '@lowbit-kv/core';
import type { Tokenizer } from '@lowbit-kv/model-onnx';

export interface TextTokens {
  /** Name of the file. */
  readonly name: string;
  /** Hex, of the text as it is read: copies with other line ends have the same. */
  readonly sha256: string;
  /** Without special tokens. */
  readonly tokens: readonly number[];
}

/** What every report says of how a text is read. */
export const TEXT_RULE =
  'UTF-8, a byte order mark dropped, line ends as \\n, no special tokens added';

/** Tokens of a file. Throws OPTION_INVALID. */
export async function readTextTokens(
  directory: string,
  path: string,
  tokenizer: Tokenizer,
): Promise<TextTokens> {
  const bytes = await readFile(resolve(directory, path)).catch((cause: unknown) => {
    throw textError('the text cannot be read', path, messageOf(cause), cause);
  });
  // As Python reads text files: published token counts and perplexities are of such text.
  const text = decoded(bytes, path).replace(/\r\n?/g, '\n');
  const tokens = tokenizer.encode(text, { special: false });
  if (tokens.length === 0) throw textError('the text has no tokens', path, `${bytes.length} bytes`);
  const sha256 = createHash('sha256').update(text).digest('hex');
  return { name: basename(path), sha256, tokens };
}

/** Throws OPTION_INVALID. */
export function requireTokens(text: TextTokens, first: number, count: number): readonly number[] {
  const part = text.tokens.slice(first, first + count);
  if (part.length === count) return part;
  throw new LowbitKvError('OPTION_INVALID', {
    message: `${text.name} is too short`,
    value: `${text.tokens.length} tokens`,
    valid: `at least ${first + count}`,
    next: 'Take fewer tokens or a longer text.',
    where: { field: 'tokens' },
  });
}

function decoded(bytes: Uint8Array, path: string): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch (cause) {
    throw textError('the text is not UTF-8', path, messageOf(cause), cause);
  }
}

function messageOf(cause: unknown): string {
  return cause instanceof Error ? cause.message : String(cause);
}

function textError(message: string, path: string, value: string, cause?: unknown): LowbitKvError {
  return new LowbitKvError('OPTION_INVALID', {
    message,
    value,
    valid: 'a file of UTF-8 text',
    next: 'Check the path and the content.',
    where: { field: 'text', file: path },
    cause,
  });
}
