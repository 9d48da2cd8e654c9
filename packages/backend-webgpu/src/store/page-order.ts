/**
 * Packed pages between the order a device keeps them in and canonical bytes: codes move, and
 * outliers of bands.
 */
import type { BlockLayout, TensorPlan } from '@lowbit-kv/core';
import { fieldCodes, fieldsOfByte, hasLines, reductionBit } from '../shaders/code-order.js';
import { closeLines, openLines } from './outlier-lines.js';

/** Bit of the code of an element in the codes of a head. */
type BitOf = (slot: number, channel: number) => number;

/** Rewrites a page from the order of the reduction to canonical order, in place. */
export function toCanonical(plan: TensorPlan, page: Uint8Array): void {
  const layout = plan.layout as BlockLayout;
  const [from, to] = [reducedBit(plan, layout), canonicalBit(layout)];
  for (const codes of codesOfHeads(plan, page)) {
    const source = layout.bits === 3 ? gathered(codes, runBytes(plan)) : codes.slice();
    codes.set(reordered(plan, source, from, to, codes.length));
  }
  if (hasLines(plan)) for (const block of headBlocks(plan, page)) openLines(plan, block);
}

/** Rewrites a canonical page to the order of the reduction, in place. */
export function toReduction(plan: TensorPlan, page: Uint8Array): void {
  const layout = plan.layout as BlockLayout;
  if (hasLines(plan)) for (const block of headBlocks(plan, page)) closeLines(plan, block);
  const [from, to] = [canonicalBit(layout), reducedBit(plan, layout)];
  for (const codes of codesOfHeads(plan, page)) {
    const isSpread = layout.bits === 3;
    const bytes = isSpread ? (codes.length / 3) * 4 : codes.length;
    const target = reordered(plan, codes, from, to, bytes);
    codes.set(isSpread ? spread(target, runBytes(plan)) : target);
  }
}

function headBlocks({ layout, heads }: TensorPlan, page: Uint8Array): Uint8Array[] {
  const { headBytes } = layout as BlockLayout;
  return Array.from({ length: heads }, (_, head) =>
    page.subarray(head * headBytes, (head + 1) * headBytes),
  );
}

function codesOfHeads(plan: TensorPlan, page: Uint8Array): Uint8Array[] {
  const { codes } = plan.layout as BlockLayout;
  return headBlocks(plan, page).map((block) => block.subarray(0, codes.rowCount * codes.rowBytes));
}

function reordered(
  plan: TensorPlan,
  source: Uint8Array,
  from: BitOf,
  to: BitOf,
  bytes: number,
): Uint8Array {
  const { blockTokens, bits } = plan.layout as BlockLayout;
  const { topFlip, lowFlip } = fieldCodes(plan);
  const fields = fieldsOfByte(bits);
  const isValue = plan.tensor === 'value';
  const mask = 2 ** bits - 1;
  // Codes of 3 bits may cross a byte: each is read from two, and written to two.
  const target = new Uint8Array(bytes + 1);
  for (let slot = 0; slot < blockTokens; slot++) {
    for (let channel = 0; channel < plan.headDim; channel++) {
      const read = from(slot, channel);
      const write = to(slot, channel);
      const isTop = (isValue ? channel : slot) % fields === fields - 1;
      const flip = isTop ? topFlip : lowFlip;
      const pair = (source[read >> 3] as number) | ((source[(read >> 3) + 1] ?? 0) << 8);
      const code = (((pair >> (read & 7)) & mask) ^ flip) << (write & 7);
      target[write >> 3] = (target[write >> 3] as number) | code;
      target[(write >> 3) + 1] = (target[(write >> 3) + 1] as number) | (code >> 8);
    }
  }
  return target.subarray(0, bytes);
}

/** Bytes of all vectors of words with the same elements of the reduction. */
function runBytes({ tensor, layout, headDim }: TensorPlan): number {
  return 4 * (tensor === 'value' ? headDim : (layout as BlockLayout).blockTokens);
}

/** Of four runs the last in the highest bits of the three before it, two bits in each. */
function spread(bytes: Uint8Array, run: number): Uint8Array {
  const result = new Uint8Array((bytes.length / 4) * 3);
  for (let i = 0; i < result.length; i++) {
    const group = Math.floor(i / (3 * run)) * 4 * run;
    const part = Math.floor(i / run) % 3;
    const last = bytes[group + 3 * run + (i % run)] as number;
    const own = bytes[group + part * run + (i % run)] as number;
    result[i] = own | (((last >> (2 * part)) & 3) << 6);
  }
  return result;
}

/** The inverse of `spread`. */
function gathered(bytes: Uint8Array, run: number): Uint8Array {
  const result = new Uint8Array((bytes.length / 3) * 4);
  for (let i = 0; i < bytes.length; i++) {
    const group = Math.floor(i / (3 * run)) * 4 * run;
    const part = Math.floor(i / run) % 3;
    const byte = bytes[i] as number;
    const last = group + 3 * run + (i % run);
    result[group + part * run + (i % run)] = byte & 0x3f;
    result[last] = (result[last] as number) | ((byte >> 6) << (2 * part));
  }
  return result;
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
