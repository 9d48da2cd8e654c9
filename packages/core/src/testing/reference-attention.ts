/**
 * Attention in float64 over plain arrays, written to be read: the oracle of the tests.
 * It shares no code with core's attention or with any backend.
 */
import { LowbitKvError } from '../errors.js';
import { checkInteger, checkLength } from './check.js';

export interface ReferenceAttentionInput {
  /** `[tokens, kvHeads, keyDim]`, dequantized. */
  readonly keys: ArrayLike<number>;
  /** `[tokens, kvHeads, valueDim]`, dequantized. */
  readonly values: ArrayLike<number>;
  /** `[queryTokens, queryHeads, keyDim]`. The last query token sits at the position of the last key. */
  readonly queries: ArrayLike<number>;
  readonly tokens: number;
  readonly queryTokens: number;
  readonly queryHeads: number;
  /** Divides `queryHeads`; query head h reads kv head `floor(h / (queryHeads / kvHeads))`. */
  readonly kvHeads: number;
  readonly keyDim: number;
  readonly valueDim: number;
  /** Factor of the logits, usually `1 / sqrt(keyDim)`. */
  readonly scale: number;
  /** Whether a query sees only keys up to its own position. Default true. */
  readonly causal?: boolean;
  /** A query sees the newest `size` keys up to its own position, and the first `sinks` keys of the sequence. */
  readonly slidingWindow?: { readonly size: number; readonly sinks: number };
  /** Logits become `cap * tanh(logit / cap)` after scaling. */
  readonly logitSoftCap?: number;
}

export interface ReferenceAttentionResult {
  /** `[queryTokens, queryHeads, valueDim]`; zeros for a query that sees nothing. */
  readonly output: Float64Array;
  /** `[queryTokens, queryHeads]`, natural logarithm over scaled, capped logits; -Infinity for nothing visible. */
  readonly logSumExp: Float64Array;
}

/** softmax(scale * Q K^T, capped and masked) V, one query head of one query token at a time. */
export function referenceAttention(input: ReferenceAttentionInput): ReferenceAttentionResult {
  const { tokens, queryTokens, queryHeads, kvHeads, keyDim, valueDim } = input;
  checkInput(input);
  const output = new Float64Array(queryTokens * queryHeads * valueDim);
  const logSumExp = new Float64Array(queryTokens * queryHeads);
  const queryGroup = queryHeads / kvHeads;

  for (let query = 0; query < queryTokens; query++) {
    const position = tokens - queryTokens + query;
    const visible: number[] = [];
    for (let token = 0; token < tokens; token++)
      if (isVisible(input, position, token)) visible.push(token);

    for (let head = 0; head < queryHeads; head++) {
      const row = query * queryHeads + head;
      const kvHead = Math.floor(head / queryGroup);

      const logits = visible.map((token) => {
        let dot = 0;
        for (let channel = 0; channel < keyDim; channel++) {
          dot +=
            at(input.queries, row * keyDim + channel) *
            at(input.keys, (token * kvHeads + kvHead) * keyDim + channel);
        }
        const scaled = dot * input.scale;
        return input.logitSoftCap === undefined
          ? scaled
          : input.logitSoftCap * Math.tanh(scaled / input.logitSoftCap);
      });

      if (visible.length === 0) {
        logSumExp[row] = Number.NEGATIVE_INFINITY;
        continue;
      }
      // Subtracting the largest logit keeps the exponentials in range and cancels in the quotient.
      const largest = logits.reduce((a, b) => Math.max(a, b), Number.NEGATIVE_INFINITY);
      const exponentials = logits.map((logit) => Math.exp(logit - largest));
      const sum = exponentials.reduce((a, b) => a + b, 0);
      logSumExp[row] = largest + Math.log(sum);

      for (let channel = 0; channel < valueDim; channel++) {
        let weighted = 0;
        visible.forEach((token, i) => {
          weighted +=
            at(exponentials, i) * at(input.values, (token * kvHeads + kvHead) * valueDim + channel);
        });
        output[row * valueDim + channel] = weighted / sum;
      }
    }
  }
  return { output, logSumExp };
}

function isVisible(input: ReferenceAttentionInput, position: number, token: number): boolean {
  const { causal = true, slidingWindow } = input;
  if (causal && token > position) return false;
  if (slidingWindow === undefined) return true;
  return token < slidingWindow.sinks || token > position - slidingWindow.size;
}

function at(values: ArrayLike<number>, index: number): number {
  // checkInput has compared every length with its shape.
  return values[index] as number;
}

function checkInput(input: ReferenceAttentionInput): void {
  const { tokens, queryTokens, queryHeads, kvHeads, keyDim, valueDim } = input;
  checkInteger('tokens', tokens, 0);
  checkInteger('queryTokens', queryTokens, 0);
  checkInteger('kvHeads', kvHeads, 1);
  checkInteger('queryHeads', queryHeads, kvHeads);
  checkInteger('keyDim', keyDim, 1);
  checkInteger('valueDim', valueDim, 1);
  if (queryHeads % kvHeads !== 0) {
    throw new LowbitKvError('OPTION_INVALID', {
      message: 'queryHeads is not a multiple of kvHeads',
      value: { queryHeads, kvHeads },
      valid: 'a whole number of query heads per kv head',
      next: 'Correct one of the two counts.',
    });
  }
  checkLength('keys', input.keys, tokens * kvHeads * keyDim, '[tokens, kvHeads, keyDim]');
  checkLength('values', input.values, tokens * kvHeads * valueDim, '[tokens, kvHeads, valueDim]');
  checkLength(
    'queries',
    input.queries,
    queryTokens * queryHeads * keyDim,
    '[queryTokens, queryHeads, keyDim]',
  );
}
