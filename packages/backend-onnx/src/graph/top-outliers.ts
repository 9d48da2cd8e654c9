/**
 * Top outliers: the largest magnitudes of each token of a head leave for a list of their own, and come back when decoded.
 */
import type { TopPlane } from '@lowbit-kv/core';
import type { PackedPlan } from '../packed-plan.js';
import type { Value } from './builder.js';
import type { Operations } from './operations.js';
import { parameterValues } from './parameter-values.js';
import { LARGEST_F32 } from './parameters.js';
import { roundOffset } from './rounding.js';
import { numbersAt } from './unpack.js';

/**
 * f32 `[tokens, heads, headDim]` with NaN in the place of the outliers, which the graph puts out in rising order of channels.
 */
export function takeOutliers(
  o: Operations,
  { heads }: PackedPlan,
  { count, channels: { entryBytes } }: TopPlane,
  tokens: Value,
): Value {
  const magnitudes = o.absolute(tokens);
  const ranks = o.select(o.atMost(magnitudes, LARGEST_F32), magnitudes, -1);
  const channels = o.lowest(o.highestIndices(ranks, 2, count), 2, count);
  const values = o.graph.node('GatherElements', 'float32', [tokens, channels], { axis: 2 });
  const numbers = roundOffset(o, o.select(o.isNaN(values), 0, values));
  const byHead = (list: Value) => o.transpose(list, [1, 0, 2]);
  o.graph.output(
    'outlier_values',
    o.cast(byHead(numbers), 'float16'),
    [heads, 'tokens', count],
    'Outliers of each token, channels rising.',
  );
  o.graph.output(
    'outlier_channels',
    channelBytes(o, byHead(o.cast(channels, 'int32')), heads, count, entryBytes),
    [heads, 'tokens', count * entryBytes],
    'Their channels, low byte first.',
  );
  const nothing = o.multiply(values, Number.NaN);
  const inputs = [tokens, channels, nothing];
  return o.graph.node('ScatterElements', 'float32', inputs, { axis: 2 });
}

function channelBytes(
  o: Operations,
  channels: Value,
  heads: number,
  count: number,
  entryBytes: number,
): Value {
  if (entryBytes === 1) return o.cast(channels, 'uint8');
  const apart = o.reshape(channels, [heads, -1, count, 1]);
  const bytes = o.concat([o.bitAnd(apart, 255), o.divide(apart, 256)], 3);
  return o.reshape(o.cast(bytes, 'uint8'), [heads, -1, count * entryBytes]);
}

/** Decoded values `[blocks, heads, ...]` of whole blocks with their outliers in place. */
export function restoreOutliers(
  o: Operations,
  { layout }: PackedPlan,
  { count, values, channels }: TopPlane,
  blocks: Value,
  decoded: Value,
): Value {
  const { heads, blockTokens } = layout;
  const list = (offset: number, bytes: number) =>
    numbersAt(o, blocks, { offset, count: blockTokens * count, bytes, vectors: heads });
  const byToken = (entries: Value) => o.reshape(entries, [0, heads, blockTokens, count]);
  const updates = byToken(parameterValues(o, 'f16', list(values.offset, 2)));
  const indices = byToken(list(channels.offset, channels.entryBytes));
  // Slots without a token name channel 0 several times, with the same zero.
  if (layout.codes.rows === 'tokens')
    return o.graph.node('ScatterElements', 'float32', [decoded, indices, updates], { axis: 3 });
  const turned = [indices, updates].map((part) => o.transpose(part, [0, 1, 3, 2]));
  return o.graph.node('ScatterElements', 'float32', [decoded, ...turned], { axis: 2 });
}
