/**
 * The group of one element in a packed page: its codes and numbers, the levels its codes stand for, and the values that
 * quantization meets. For looking at what a scheme does.
 */

import { decodeF16 } from '../float16.js';
import { packCodes, unpackCodes } from '../law/bits.js';
import { decodeTokens } from '../law/decode.js';
import type { PackedTensorPlan } from '../law/encode.js';
import { readNumber } from '../law/page-bytes.js';
import { parameterValue } from '../law/parameters.js';
import { measureStatistics } from '../law/statistics.js';
import { Transforms } from '../law/transforms.js';
import { type BlockLayout, PARAMETER_BYTES, type ParameterName } from './layout.js';
import type { TensorPlan } from './plan.js';

/** An element of a page; `head` counts the heads of the unit. */
export interface PageElement {
  readonly head: number;
  readonly slot: number;
  readonly channel: number;
}

/** A group as stored. */
export interface StoredGroup {
  /** Null with a codec: only the codec knows what its bytes mean. */
  readonly codes: readonly number[] | null;
  readonly parameters: readonly { readonly name: ParameterName; readonly value: number }[];
  /** Decoded, before inverse transforms; outliers in their places. */
  readonly values: readonly number[];
}

/** Groups along tokens: one channel of the valid slots in the group. Others: the channels of one slot that share parameters. */
export function storedGroup(
  plan: PackedTensorPlan,
  page: Uint8Array,
  validTokens: number,
  element: PageElement,
): StoredGroup {
  const { layout } = plan;
  const { head, slot, channel } = element;
  const { bits, headDim, tokensPerGroup, channelsPerGroup, codes: plane } = layout;
  const firstSlot = slot - (slot % tokensPerGroup);
  const firstChannel = channel - (channel % channelsPerGroup);
  const tokens = Math.min(tokensPerGroup, validTokens - firstSlot);
  const size = tokens * channelsPerGroup;
  const codes = new Uint8Array(size);
  if (plane.rows !== 'groups') {
    const first = plane.rows === 'channels' ? firstSlot : firstChannel;
    unpackCodes(page, codeRow(layout, element), first, size, bits, codes, 0);
  }
  const decoded = new Float32Array(tokens * headDim);
  decodeTokens(plan, page, head, firstSlot, tokens, decoded);
  const base = (layout.parametersShared ? layout.heads : head) * layout.headBytes;
  const group = groupOf(layout, element);
  return {
    codes: plane.rows === 'groups' ? null : [...codes],
    parameters: layout.parameters.map(({ name, type, offset }) => {
      const bytes = PARAMETER_BYTES[type];
      return {
        name,
        value: parameterValue(type)(readNumber(page, base + offset + group * bytes, bytes)),
      };
    }),
    values:
      channelsPerGroup === 1
        ? Array.from({ length: tokens }, (_, i) => decoded[i * headDim + channel] as number)
        : [...decoded.subarray(firstChannel, firstChannel + channelsPerGroup)],
  };
}

/**
 * What an element decodes to with each code there is, rising, before inverse transforms and as if it were no outlier. Null
 * with a codec.
 */
export function codeLevels(
  plan: PackedTensorPlan,
  page: Uint8Array,
  element: PageElement,
): number[] | null {
  const { layout } = plan;
  const { head, slot, channel } = element;
  if (layout.codes.rows === 'groups') return null;
  const copy = page.slice();
  dropOutliers(layout, copy, element);
  const place = layout.codes.rows === 'channels' ? slot : channel;
  const row = codeRow(layout, element);
  const { rowBytes } = layout.codes;
  const codes = new Uint8Array(
    layout.codes.rows === 'channels' ? layout.blockTokens : layout.headDim,
  );
  unpackCodes(copy, row, 0, codes.length, layout.bits, codes, 0);
  const decoded = new Float32Array(layout.headDim);
  const levels = new Set<number>();
  for (let code = 0; code < 2 ** layout.bits; code++) {
    codes[place] = code;
    packCodes(codes, 0, codes.length, layout.bits, copy.subarray(row, row + rowBytes), 0);
    decodeTokens(plan, copy, head, slot, 1, decoded);
    const level = decoded[channel] as number;
    // Tables may have fewer levels than there are codes.
    if (Number.isFinite(level)) levels.add(level);
  }
  return [...levels].sort((a, b) => a - b);
}

/**
 * f16 tokens `[tokens, heads, headDim]` as quantization meets them: f32 of the same shape, after the transforms of the tensor.
 * `measured` are the tokens that statistics are taken from: `statisticsTokens` after the sinks, of the same heads.
 */
export function transformTokens(
  plan: TensorPlan,
  tokens: Uint16Array,
  measured: Uint16Array,
): Float32Array {
  const { heads, headDim } = plan;
  const values = decodeF16(tokens);
  const transforms = Transforms.of(plan, measureStatistics(plan, measured));
  if (transforms === null) return values;
  for (let at = 0; at < values.length; at += headDim)
    transforms.apply(values, at, (at / headDim) % heads);
  return values;
}

/** Byte at which the row of codes of an element begins. */
function codeRow({ headBytes, codes }: BlockLayout, { head, slot, channel }: PageElement): number {
  return (
    head * headBytes + codes.offset + (codes.rows === 'channels' ? channel : slot) * codes.rowBytes
  );
}

/** Entry of the parameter planes. */
function groupOf(layout: BlockLayout, { slot, channel }: PageElement): number {
  const { headDim, tokensPerGroup, channelsPerGroup } = layout;
  return channelsPerGroup === 1
    ? Math.floor(slot / tokensPerGroup) * headDim + channel
    : slot * (headDim / channelsPerGroup) + Math.floor(channel / channelsPerGroup);
}

/** Makes an element one of the dense codes. */
function dropOutliers(
  { headBytes, headDim, blockTokens, sparse, top }: BlockLayout,
  page: Uint8Array,
  { head, slot, channel }: PageElement,
): void {
  const base = head * headBytes;
  if (sparse !== null) {
    const { offset, chunks, entryBytes } = sparse.endOffsets;
    page.fill(0, base + offset, base + offset + blockTokens * chunks * entryBytes);
  }
  if (top !== undefined) {
    const { offset, entryBytes } = top.channels;
    const first = base + offset + slot * top.count * entryBytes;
    const elsewhere = (channel + 1) % headDim;
    for (let i = 0; i < top.count * entryBytes; i += entryBytes) {
      page[first + i] = elsewhere & 255;
      if (entryBytes === 2) page[first + i + 1] = elsewhere >> 8;
    }
  }
}
