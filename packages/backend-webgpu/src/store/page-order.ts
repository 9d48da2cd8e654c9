/**
 * Packed pages between the order a device keeps them in and canonical bytes: only codes move.
 */
import type { BlockLayout, TensorPlan } from '@lowbit-kv/core';
import { linearCodes } from '../shaders/code-order.js';

/** Bit of the code of an element in the codes of a head. Codes of 2, 4 and 8 bits never cross a byte. */
type BitOf = (slot: number, channel: number) => number;

/** Rewrites a page from the order of the reduction to canonical order, in place. */
export function toCanonical(plan: TensorPlan, page: Uint8Array): void {
  const layout = plan.layout as BlockLayout;
  reorder(plan, page, reductionBit(plan, layout), canonicalBit(layout));
}

/** Rewrites a canonical page to the order of the reduction, in place. */
export function toReduction(plan: TensorPlan, page: Uint8Array): void {
  const layout = plan.layout as BlockLayout;
  reorder(plan, page, canonicalBit(layout), reductionBit(plan, layout));
}

function reorder(plan: TensorPlan, page: Uint8Array, from: BitOf, to: BitOf): void {
  const { blockTokens, bits, headBytes, codes } = plan.layout as BlockLayout;
  const { flip } = linearCodes(plan);
  const mask = 2 ** bits - 1;
  for (let head = 0; head < plan.heads; head++) {
    const first = head * headBytes;
    const target = page.subarray(first, first + codes.rowCount * codes.rowBytes);
    const source = target.slice();
    target.fill(0);
    for (let slot = 0; slot < blockTokens; slot++) {
      for (let channel = 0; channel < plan.headDim; channel++) {
        const read = from(slot, channel);
        const write = to(slot, channel);
        const code = (((source[read >> 3] as number) >> (read & 7)) & mask) ^ flip;
        target[write >> 3] = (target[write >> 3] as number) | (code << (write & 7));
      }
    }
  }
}

function canonicalBit({ codes, bits }: BlockLayout): BitOf {
  return codes.rows === 'channels'
    ? (slot, channel) => channel * codes.rowBytes * 8 + slot * bits
    : (slot, channel) => slot * codes.rowBytes * 8 + channel * bits;
}

/** See code-places-reduction.wgsl. */
function reductionBit({ tensor }: TensorPlan, { bits, blockTokens, headDim }: BlockLayout): BitOf {
  const perWord = 32 / bits;
  return (slot, channel) => {
    const [number, other, width] =
      tensor === 'value' ? [slot, channel, headDim] : [channel, slot, blockTokens];
    const i = number % perWord;
    const word = Math.floor(number / perWord) * width + other;
    return word * 32 + 8 * (i % 4) + bits * Math.floor(i / 4);
  };
}
