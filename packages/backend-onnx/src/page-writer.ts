/**
 * Puts what an encode graph returns into the slots of a canonical page.
 */
import { outlierCapacityError, PARAMETER_BYTES } from '@lowbit-kv/core';
import type { GraphResult } from './graph-session.js';
import { hasBands, type PackedPlan } from './packed-plan.js';

/** Writes `count` encoded tokens from `slot` on; slots before it are not touched. Throws OUTLIER_CAPACITY. */
export function writeEncoded(
  plan: PackedPlan,
  result: GraphResult,
  page: Uint8Array,
  slot: number,
  count: number,
): void {
  writeCodes(plan, result.bytes('codes'), page, slot, count);
  writeParameters(plan, result, page, slot, count);
  writeTop(plan, result, page, slot, count);
  if (hasBands(plan)) writeOutliers(plan, result, page, slot, count);
}

function writeCodes(
  plan: PackedPlan,
  codes: Uint8Array,
  page: Uint8Array,
  slot: number,
  count: number,
): void {
  const { heads, headDim, headBytes, bits, codes: plane } = plan.layout;
  const channelRows = plane.rows === 'channels';
  const rows = channelRows ? headDim : count;
  const bytes = Math.ceil(((channelRows ? count : headDim) * bits) / 8);
  const first = channelRows ? (slot * bits) / 8 : slot * plane.rowBytes;
  for (let head = 0; head < heads; head++) {
    for (let row = 0; row < rows; row++) {
      const from = (head * rows + row) * bytes;
      const to = head * headBytes + plane.offset + first + row * plane.rowBytes;
      page.set(codes.subarray(from, from + bytes), to);
    }
  }
}

function writeParameters(
  plan: PackedPlan,
  result: GraphResult,
  page: Uint8Array,
  slot: number,
  count: number,
): void {
  const { layout } = plan;
  const { heads, headBytes, headDim, tokensPerGroup, channelsPerGroup, parametersShared } = layout;
  const perRow = headDim / channelsPerGroup;
  const firstEntry = (slot / tokensPerGroup) * perRow;
  const entries = (count / tokensPerGroup) * perRow;
  for (const { name, type, offset } of layout.parameters) {
    const bytes = PARAMETER_BYTES[type];
    const stored = result.raw(name);
    for (let vector = 0; vector < (parametersShared ? 1 : heads); vector++) {
      const from = vector * entries * bytes;
      const to = (parametersShared ? heads : vector) * headBytes + offset + firstEntry * bytes;
      page.set(stored.subarray(from, from + entries * bytes), to);
    }
  }
}

/** Copies the lists of top outliers, if the plan has any. */
function writeTop(
  { layout }: PackedPlan,
  result: GraphResult,
  page: Uint8Array,
  slot: number,
  count: number,
): void {
  const { top, heads, headBytes } = layout;
  if (top === undefined) return;
  for (const [name, offset, bytes] of [
    ['outlier_values', top.values.offset, 2],
    ['outlier_channels', top.channels.offset, top.channels.entryBytes],
  ] as const) {
    const list = result.raw(name);
    const tokenBytes = top.count * bytes;
    for (let head = 0; head < heads; head++) {
      const from = head * count * tokenBytes;
      const to = head * headBytes + offset + slot * tokenBytes;
      page.set(list.subarray(from, from + count * tokenBytes), to);
    }
  }
}

/** Appends the entries of each head behind those of earlier slots, and their end offsets. */
function writeOutliers(
  plan: PackedPlan,
  result: GraphResult,
  page: Uint8Array,
  slot: number,
  count: number,
): void {
  const { layout } = plan;
  const { endOffsets, entries } = layout.sparse as NonNullable<typeof layout.sparse>;
  const { chunks, entryBytes } = endOffsets;
  const list = result.bytes('outlier_entries');
  const counts = result.int32('outlier_counts');
  let read = 0;
  for (let head = 0; head < layout.heads; head++) {
    const base = head * layout.headBytes;
    const offsets = base + endOffsets.offset;
    let end =
      slot === 0 ? 0 : readNumber(page, offsets + (slot * chunks - 1) * entryBytes, entryBytes);
    for (let token = 0; token < count; token++) {
      const from = (head * count + token) * chunks;
      const found = counts.subarray(from, from + chunks).reduce((sum, n) => sum + n, 0);
      if (end + found > entries.capacity) throw outlierCapacityError(plan, head);
      for (let chunk = 0; chunk < chunks; chunk++) {
        const here = counts[from + chunk] as number;
        page.set(list.subarray(read, read + here), base + entries.offset + end);
        read += here;
        end += here;
        const place = offsets + ((slot + token) * chunks + chunk) * entryBytes;
        writeNumber(page, place, entryBytes, end);
      }
    }
  }
}

function readNumber(bytes: Uint8Array, offset: number, size: number): number {
  let value = 0;
  for (let i = size - 1; i >= 0; i--) value = value * 256 + (bytes[offset + i] as number);
  return value;
}

function writeNumber(bytes: Uint8Array, offset: number, size: number, value: number): void {
  for (let i = 0; i < size; i++) bytes[offset + i] = Math.floor(value / 256 ** i) & 255;
}
