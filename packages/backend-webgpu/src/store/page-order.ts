/**
 * Packed pages between the order a device keeps them in and canonical bytes: codes move, and
 * outliers of bands.
 */
import type { BlockLayout, TensorPlan } from '@lowbit-kv/core';
import { fieldCodes, hasLines, reductionBit } from '../shaders/code-order.js';
import { closeLines, openLines } from './outlier-lines.js';

/** Bit of the code of an element in the codes of a head. Codes of 2, 4 and 8 bits never cross a byte. */
type BitOf = (slot: number, channel: number) => number;

/** Rewrites a page from the order of the reduction to canonical order, in place. */
export function toCanonical(plan: TensorPlan, page: Uint8Array): void {
  const layout = plan.layout as BlockLayout;
  reorder(plan, page, reducedBit(plan, layout), canonicalBit(layout));
  if (hasLines(plan)) for (const block of headBlocks(plan, page)) openLines(plan, block);
}

/** Rewrites a canonical page to the order of the reduction, in place. */
export function toReduction(plan: TensorPlan, page: Uint8Array): void {
  const layout = plan.layout as BlockLayout;
  if (hasLines(plan)) for (const block of headBlocks(plan, page)) closeLines(plan, block);
  reorder(plan, page, canonicalBit(layout), reducedBit(plan, layout));
}

function headBlocks({ layout, heads }: TensorPlan, page: Uint8Array): Uint8Array[] {
  const { headBytes } = layout as BlockLayout;
  return Array.from({ length: heads }, (_, head) =>
    page.subarray(head * headBytes, (head + 1) * headBytes),
  );
}

function reorder(plan: TensorPlan, page: Uint8Array, from: BitOf, to: BitOf): void {
  const { blockTokens, bits, codes } = plan.layout as BlockLayout;
  const { topFlip, lowFlip } = fieldCodes(plan);
  const fields = 8 / bits;
  const isValue = plan.tensor === 'value';
  const mask = 2 ** bits - 1;
  for (const block of headBlocks(plan, page)) {
    const target = block.subarray(0, codes.rowCount * codes.rowBytes);
    const source = target.slice();
    target.fill(0);
    for (let slot = 0; slot < blockTokens; slot++) {
      for (let channel = 0; channel < plan.headDim; channel++) {
        const read = from(slot, channel);
        const write = to(slot, channel);
        const isTop = (isValue ? channel : slot) % fields === fields - 1;
        const flip = isTop ? topFlip : lowFlip;
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

function reducedBit({ tensor }: TensorPlan, { bits, blockTokens, headDim }: BlockLayout): BitOf {
  return tensor === 'value'
    ? (slot, channel) => reductionBit(bits, headDim, slot, channel)
    : (slot, channel) => reductionBit(bits, blockTokens, channel, slot);
}
