/**
 * Checks around the segments of a decoder.
 */
import { LowbitKvError } from '@lowbit-kv/core';
import { FALLBACK } from '../attention/refusal.js';
import type { SessionTensor } from '../model/session.js';
import type { Decoder } from './decoder.js';

/** Throws OPTION_INVALID. A `contextLimit` of null: the model does not say. */
export function checkTokens(
  tokens: readonly number[],
  position: number,
  { vocabularySize, contextLimit }: Pick<Decoder, 'vocabularySize' | 'contextLimit'>,
): void {
  const refuse = (message: string, value: unknown, valid: string) => {
    throw new LowbitKvError('OPTION_INVALID', { message, value, valid, next: 'Correct the call.' });
  };
  if (tokens.length === 0) refuse('there are no tokens', [], 'one token or more');
  if (!Number.isInteger(position) || position < 0)
    refuse('the position of the first token is not valid', position, 'an integer from 0 on');
  const bad = tokens.find((id) => !Number.isInteger(id) || id < 0 || id >= vocabularySize);
  if (bad !== undefined)
    refuse('the model has no such token', bad, `integers from 0 to ${vocabularySize - 1}`);
  const end = position + tokens.length;
  if (contextLimit !== null && end > contextLimit)
    refuse(
      'there are more tokens than the context of the model has',
      end,
      `at most ${contextLimit}`,
    );
}

/** The numbers of an f32 tensor of `length` elements. Throws MODEL_UNSUPPORTED for another size. */
export function floatsOf(
  { data, dims }: Omit<SessionTensor, 'type'>,
  length: number,
  what: string,
): Float32Array {
  if (data instanceof Float32Array && data.length === length) return data;
  throw new LowbitKvError('MODEL_UNSUPPORTED', {
    message: `${what} does not have the expected size`,
    value: dims,
    valid: `${length} numbers`,
    next: `Check config.json: heads, head dim, vocabulary. ${FALLBACK}`,
  });
}
