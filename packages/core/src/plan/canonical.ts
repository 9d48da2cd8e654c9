/**
 * Makes packed pages canonical: bytes past the valid tokens are zero, so equal contents give equal bytes.
 */
import { type BlockLayout, PARAMETER_BYTES } from './layout.js';

/** Zeroes everything in `page` that belongs to slots from `validTokens` on, and all padding. Works in place. */
export function canonicalizePage(layout: BlockLayout, page: Uint8Array, validTokens: number): void {
  const used = usedRanges(layout, page, validTokens);
  let at = 0;
  for (const { first, end } of used) {
    page.fill(0, at, first);
    at = end;
  }
  page.fill(0, at);
  trimRows(layout, page, validTokens);
}

interface ByteRange {
  readonly part: 'codes' | 'parameters' | 'outliers';
  readonly first: number;
  readonly end: number;
}

/** Byte ranges a page of `validTokens` tokens really uses, rising. */
export function usedRanges(
  layout: BlockLayout,
  page: Uint8Array,
  validTokens: number,
): ByteRange[] {
  const ranges: ByteRange[] = [];
  if (validTokens === 0) return ranges;
  for (let head = 0; head < layout.heads; head++) {
    const base = head * layout.headBytes;
    const { codes, sparse, top } = layout;
    const { rows, bytes } = usedRows(layout, validTokens);
    if (bytes === codes.rowBytes) {
      ranges.push({ part: 'codes', first: base, end: base + rows * bytes });
    } else {
      for (let row = 0; row < rows; row++) {
        const first = base + row * codes.rowBytes;
        ranges.push({ part: 'codes', first, end: first + bytes });
      }
    }
    if (!layout.parametersShared) ranges.push(...parameterRanges(layout, base, validTokens));
    if (sparse !== null) {
      const { endOffsets, entries } = sparse;
      const first = base + endOffsets.offset;
      ranges.push({
        part: 'outliers',
        first,
        end: first + validTokens * endOffsets.chunks * endOffsets.entryBytes,
      });
      const count = outlierCount(layout, page, head, validTokens);
      ranges.push({
        part: 'outliers',
        first: base + entries.offset,
        end: base + entries.offset + count,
      });
    }
    if (top !== undefined) {
      for (const [{ offset }, bytes] of [
        [top.values, 2],
        [top.channels, top.channels.entryBytes],
      ] as const) {
        const first = base + offset;
        ranges.push({ part: 'outliers', first, end: first + validTokens * top.count * bytes });
      }
    }
  }
  if (layout.parametersShared)
    ranges.push(...parameterRanges(layout, layout.heads * layout.headBytes, validTokens));
  return ranges;
}

/** Rows of codes in use, and the bytes in use of each. */
function usedRows(layout: BlockLayout, validTokens: number): { rows: number; bytes: number } {
  const { codes, headDim, bits } = layout;
  if (codes.rows === 'groups')
    return { rows: groupCount(layout, validTokens), bytes: codes.rowBytes };
  if (codes.rows === 'tokens') return { rows: validTokens, bytes: Math.ceil((headDim * bits) / 8) };
  return { rows: codes.rowCount, bytes: Math.ceil((validTokens * bits) / 8) };
}

/** Groups of a head that hold a valid token. */
function groupCount(layout: BlockLayout, validTokens: number): number {
  return (
    Math.ceil(validTokens / layout.tokensPerGroup) * (layout.headDim / layout.channelsPerGroup)
  );
}

/** Outliers stored for the first `tokens` tokens of a head. */
export function outlierCount(
  layout: BlockLayout,
  page: Uint8Array,
  head: number,
  tokens: number,
): number {
  if (layout.sparse === null || tokens === 0) return 0;
  const { offset, entryBytes, chunks } = layout.sparse.endOffsets;
  const at = head * layout.headBytes + offset + (tokens * chunks - 1) * entryBytes;
  let count = 0;
  for (let i = entryBytes - 1; i >= 0; i--) count = count * 256 + (page[at + i] as number);
  return count;
}

function parameterRanges(layout: BlockLayout, base: number, validTokens: number): ByteRange[] {
  const groups = groupCount(layout, validTokens);
  return layout.parameters.map((plane) => {
    const first = base + plane.offset;
    return { part: 'parameters', first, end: first + groups * PARAMETER_BYTES[plane.type] };
  });
}

/** Codes in use can end inside a byte: clears the bits of that byte past them. */
function trimRows(layout: BlockLayout, page: Uint8Array, validTokens: number): void {
  if (layout.codes.rows === 'groups') return;
  const byTokens = layout.codes.rows === 'tokens';
  const used = (byTokens ? layout.headDim : validTokens) * layout.bits;
  if ((used & 7) === 0) return;
  const rows = byTokens ? validTokens : layout.codes.rowCount;
  for (let head = 0; head < layout.heads; head++) {
    for (let row = 0; row < rows; row++) {
      const at = head * layout.headBytes + row * layout.codes.rowBytes + (used >> 3);
      page[at] = (page[at] as number) & (2 ** (used & 7) - 1);
    }
  }
}
