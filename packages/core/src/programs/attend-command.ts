/**
 * Attention over committed tokens, against the models.
 */
import type { Cache } from '../cache/cache.js';
import { ensure, ensureRefused, ensureWithin } from '../contract/check.js';
import type { AttentionTolerances } from '../contract/tolerances.js';
import type { HostTensor } from '../tensor.js';
import { createDraws } from '../testing/draws.js';
import { drawnQueries } from './drawn-tensors.js';
import type { Expected } from './expected.js';
import type { Pair, Tally } from './pair.js';
import { KEY_DIM, LAYERS, QUERY_HEADS, VALUE_DIM } from './setups.js';

/** What commands need of the run that they are part of. */
export interface RunContext {
  readonly cache: Cache;
  readonly expected: Expected;
  readonly rollback: number;
  readonly tolerances: AttentionTolerances;
  readonly tally: Tally;
}

/** `wanted` queries of every sequence, or as many as it has tokens. */
export async function attendCommitted(
  context: RunContext,
  pairs: readonly Pair[],
  wanted: number,
): Promise<void> {
  const { cache, expected, tally } = context;
  const queries = pairs.map(({ model }) => Math.min(wanted, Math.max(model.length, 1)));
  const total = queries.reduce((sum, count) => sum + count, 0);
  const query = drawnQueries(createDraws(7), total);
  const options = { queries, logSumExp: true };
  const sequences = pairs.map(({ sequence }) => sequence);
  for (let layer = 0; layer < LAYERS; layer++) {
    const attend = () => cache.attend(layer, query, sequences, options);
    if (await evictedFor(context, pairs, queries, layer)) {
      await ensureRefused(attend, ['OPTION_INVALID'], 'queries of what a window has evicted');
      // One query at the end, and one more per token of `rollback`, can always be answered.
      const further = pairs.map(
        ({ longest, model }, i) => longest - model.length + (queries[i] as number) - 1,
      );
      ensure(Math.max(...further) > context.rollback, 'queries that can be answered were refused');
      tally.add('refused queries');
      continue;
    }
    const result = await attend().read();
    let first = 0;
    for (const [i, { model }] of pairs.entries()) {
      const span = { first, queries: queries[i] as number, length: model.length };
      const keys = expected.values(model, layer, 'key');
      compareAttention(
        context,
        result,
        query,
        span,
        layer,
        keys,
        expected.values(model, layer, 'value'),
      );
      first += span.queries;
    }
    tally.add('committed attention');
  }
}

/** `span`: the queries of one sequence among those of a result. */
export function compareAttention(
  { expected, tolerances, tally }: RunContext,
  result: { readonly output: HostTensor; readonly logSumExp: HostTensor | undefined },
  query: HostTensor,
  span: { readonly first: number; readonly queries: number; readonly length: number },
  layer: number,
  keys: Float32Array,
  values: Float32Array,
): void {
  const { first, queries } = span;
  if (queries === 0) return;
  if (expected.layer(layer).geometry.rotary !== null) tally.add('keys turned in attention');
  const slice = ({ data }: HostTensor, width: number) =>
    data.subarray(first * width, (first + queries) * width);
  const wanted = expected.attention(layer, slice(query, QUERY_HEADS * KEY_DIM), span, keys, values);
  ensure(result.logSumExp !== undefined, 'no log-sum-exp was returned');
  const what = `attention of layer ${layer} over ${span.length} tokens`;
  const output = slice(result.output, QUERY_HEADS * VALUE_DIM);
  ensureWithin(output, wanted.output, tolerances.output, what);
  const logSumExp = slice(result.logSumExp, QUERY_HEADS);
  ensureWithin(logSumExp, wanted.logSumExp, tolerances.logSumExp, `${what}: log-sum-exp`);
}

/** Whether a sliding window has dropped what the first of these queries would see. */
async function evictedFor(
  context: RunContext,
  pairs: readonly Pair[],
  queries: readonly number[],
  layer: number,
): Promise<boolean> {
  const window = context.expected.layer(layer).geometry.slidingWindow;
  if (window === null) return false;
  for (const [i, pair] of pairs.entries()) {
    const { length } = pair.model;
    if (queries[i] === 0) continue;
    const first = length - (queries[i] as number) - window.size + 1;
    if (!(await holdsFrom(context, pair, layer, Math.max(first, window.sinks), length)))
      return true;
  }
  return false;
}

/** Whether keys and values of all tokens from `first` to before `end` are still there. */
export async function holdsFrom(
  { cache }: RunContext,
  { sequence }: Pair,
  layer: number,
  first: number,
  end: number,
): Promise<boolean> {
  const { keyPositions, valuePositions } = await cache.materialize(sequence, layer);
  const [keys, values] = [new Set(keyPositions), new Set(valuePositions)];
  for (let p = first; p < end; p++) if (!keys.has(p) || !values.has(p)) return false;
  return true;
}
