/**
 * Little-endian reads and writes in a packed page.
 */
import type { BlockLayout } from '../plan/layout.js';

export function readU16(bytes: Uint8Array, offset: number): number {
  return (bytes[offset] as number) | ((bytes[offset + 1] as number) << 8);
}

export function writeU16(bytes: Uint8Array, offset: number, value: number): void {
  bytes[offset] = value & 255;
  bytes[offset + 1] = value >>> 8;
}

/** End offset number `index` (token * chunks + chunk) of the head block that starts at `base`. */
export function readEndOffset(
  page: Uint8Array,
  base: number,
  layout: BlockLayout,
  index: number,
): number {
  const { endOffsets } = layout.sparse as NonNullable<BlockLayout['sparse']>;
  const offset = base + endOffsets.offset + index * endOffsets.entryBytes;
  const low = readU16(page, offset);
  return endOffsets.entryBytes === 2 ? low : low + readU16(page, offset + 2) * 65536;
}

export function writeEndOffset(
  page: Uint8Array,
  base: number,
  layout: BlockLayout,
  index: number,
  end: number,
): void {
  const { endOffsets } = layout.sparse as NonNullable<BlockLayout['sparse']>;
  const offset = base + endOffsets.offset + index * endOffsets.entryBytes;
  writeU16(page, offset, end & 0xffff);
  if (endOffsets.entryBytes === 4) writeU16(page, offset + 2, end >>> 16);
}
