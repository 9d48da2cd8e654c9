/**
 * Bits per element that a cache really holds.
 */
import type { CacheStats } from '@lowbit-kv/core';
import type { Decoder } from '../decoder/decoder.js';

/**
 * Codes, parameters, outliers, windows and statistics of some caches that together hold `tokens` tokens of every layer,
 * over all their elements; padding and unused slots of pages left out.
 */
export function bitsOf(
  { layers }: Pick<Decoder, 'layers'>,
  stats: CacheStats[],
  tokens: number,
): number {
  const bytes = stats.reduce((sum, { bytes: { live, alignment } }) => sum + live - alignment, 0);
  const elements = layers.reduce(
    (sum, { geometry: { kvHeads, keyHeadDim, valueHeadDim } }) =>
      sum + tokens * kvHeads * (keyHeadDim + valueHeadDim),
    0,
  );
  return (8 * bytes) / elements;
}
