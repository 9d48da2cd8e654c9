/** Cuts a text into windows: which tokens are run together, and which of them are predicted. */
import { createHash } from 'node:crypto';
import { LowbitKvError } from '@lowbit-kv/core';
import type { EvaluatedModel } from './model.js';

export interface WindowOptions {
  readonly windows: number;
  /** Tokens of a window, and from the first token of one window to that of the next. */
  readonly windowTokens: number;
}

/** How every report says it. */
export const WINDOW_RULE =
  'windows follow one another from the first token of the text, each from an empty cache and without tokens of its own; token t of a window (t from 1) is predicted from the t tokens before it';

/**
 * `windows` lists of `windowTokens` tokens; each gives `windowTokens - 1` predictions. Throws OPTION_INVALID when the text
 * is too short, a window does not fit the context of the model, or a token is none of its vocabulary.
 */
export function cutWindows(
  tokens: readonly number[],
  { windows, windowTokens }: WindowOptions,
  { contextLimit, vocabularySize }: Pick<EvaluatedModel, 'contextLimit' | 'vocabularySize'>,
): number[][] {
  checkNumber('windows', windows, 1);
  checkNumber('windowTokens', windowTokens, 2);
  if (contextLimit !== null && windowTokens > contextLimit) {
    throw new LowbitKvError('OPTION_INVALID', {
      message: 'a window is longer than the context of the model',
      value: windowTokens,
      valid: `2 to ${contextLimit} tokens`,
      next: 'Take shorter windows.',
      where: { field: 'windowTokens' },
    });
  }
  const needed = windows * windowTokens;
  if (tokens.length < needed) {
    const fit = Math.floor(tokens.length / windowTokens);
    throw new LowbitKvError('OPTION_INVALID', {
      message: `the text is too short for ${windows} windows of ${windowTokens} tokens`,
      value: tokens.length,
      valid: `at least ${needed} tokens`,
      next:
        fit > 0
          ? `Take at most ${fit} windows, shorter ones, or a longer text.`
          : 'Take shorter windows, or a longer text.',
      where: { field: 'windows' },
    });
  }
  const used = tokens.slice(0, needed);
  checkTokens(used, vocabularySize);
  return Array.from({ length: windows }, (_, i) =>
    used.slice(i * windowTokens, (i + 1) * windowTokens),
  );
}

/** Throws OPTION_INVALID for a token that is none of the vocabulary. */
export function checkTokens(tokens: readonly number[], vocabularySize: number): void {
  const place = tokens.findIndex(
    (token) => !Number.isSafeInteger(token) || token < 0 || token >= vocabularySize,
  );
  if (place < 0) return;
  throw new LowbitKvError('OPTION_INVALID', {
    message: 'the text has a token that the model does not know',
    value: tokens[place],
    valid: `0 to ${vocabularySize - 1}`,
    next: "Encode the text with the model's own tokenizer.",
    where: { token: place },
  });
}

/** Hex SHA-256 of tokens as little-endian u32. */
export function tokensHash(tokens: readonly number[]): string {
  const bytes = new DataView(new ArrayBuffer(4 * tokens.length));
  for (const [i, token] of tokens.entries()) bytes.setUint32(4 * i, token, true);
  return createHash('sha256').update(bytes).digest('hex');
}

function checkNumber(field: string, value: number, least: number): void {
  if (Number.isSafeInteger(value) && value >= least) return;
  throw new LowbitKvError('OPTION_INVALID', {
    message: `${field} must be an integer of at least ${least}`,
    value,
    valid: `an integer of at least ${least}`,
    next: 'Correct the option.',
    where: { field },
  });
}
