/**
 * Statistics that transforms take from the sequence itself: the channel scale of keys, docs/law.md 7.
 *
 * n = sqrt(max |x|) per kv head and channel over the tokens given. Stored is the reciprocal r, rounded to f16 exactly;
 * packing multiplies by r (exact in f32), attention multiplies the query by 1 / r in f32.
 */
import { f16DecodeTable, f32ToF16 } from '../float16.js';
import type { ChannelScale } from '../scheme.js';

/** The channel scale that is measured on the sequence itself. */
export type SequenceChannelScale = Extract<ChannelScale, { scope: 'sequence' }>;

const ONE = 0x3c00;

/**
 * f16 reciprocals `[heads, headDim]` from f16 tokens `[tokens, heads, headDim]`. n is 1 for an all-zero channel, clamped
 * to `clamp`, and 1 for a whole head whose max n / median n is below `minimumSpread`.
 */
export function channelReciprocals(
  tokens: Uint16Array,
  heads: number,
  headDim: number,
  rule: Pick<SequenceChannelScale, 'clamp' | 'minimumSpread'>,
): Uint16Array {
  const table = f16DecodeTable();
  const width = heads * headDim;
  const largest = new Uint16Array(width);
  for (let i = 0, channel = 0; i < tokens.length; i++) {
    // Magnitude order is the order of the bits without the sign; a NaN must not win.
    const magnitude = (tokens[i] as number) & 0x7fff;
    if (magnitude > (largest[channel] as number) && magnitude <= 0x7c00)
      largest[channel] = magnitude;
    if (++channel === width) channel = 0;
  }
  const reciprocals = new Uint16Array(width);
  for (let head = 0; head < heads; head++) {
    const first = head * headDim;
    for (let i = first; i < first + headDim; i++) {
      const maximum = table[largest[i] as number] as number;
      reciprocals[i] =
        maximum === 0
          ? ONE
          : reciprocalRoot(clamp(maximum, rule.clamp[0] ** 2, rule.clamp[1] ** 2));
    }
    const ordered = reciprocals.slice(first, first + headDim).sort();
    // n is largest where r is smallest. An even count takes the upper middle of r, that is the lower middle of n.
    const smallest = table[ordered[0] as number] as number;
    const median = table[ordered[headDim >> 1] as number] as number;
    const threshold = Math.fround(smallest * Math.fround(rule.minimumSpread));
    if (median < threshold) reciprocals.fill(ONE, first, first + headDim);
  }
  return reciprocals;
}

/** f16 bits nearest to 1 / sqrt(maximum), decided by comparing squares exactly. */
export function reciprocalRoot(maximum: number): number {
  const table = f16DecodeTable();
  let bits = f32ToF16(1 / Math.sqrt(maximum));
  // r is right when (r - half)^2 m <= 1 <= (r + half)^2 m; midpoints have 12 bits, so the products are exact in double.
  const below = (candidate: number) => {
    const middle = ((table[candidate] as number) + (table[candidate - 1] as number)) / 2;
    return middle * middle * maximum;
  };
  while (bits > 1 && below(bits) > 1) bits--;
  while (bits < 0x7bff && below(bits + 1) < 1) bits++;
  return bits;
}

function clamp(value: number, low: number, high: number): number {
  return Math.min(Math.max(value, low), high);
}
