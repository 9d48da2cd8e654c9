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

/** A number of 1, 2 or 4 bytes. */
export function readNumber(bytes: Uint8Array, offset: number, size: number): number {
  if (size === 1) return bytes[offset] as number;
  if (size === 2) return readU16(bytes, offset);
  return (readU16(bytes, offset) | (readU16(bytes, offset + 2) << 16)) >>> 0;
}

export function writeNumber(bytes: Uint8Array, offset: number, size: number, value: number): void {
  for (let i = 0; i < size; i++) bytes[offset + i] = value >>> (8 * i);
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
  return readNumber(page, offset, endOffsets.entryBytes);
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
  writeNumber(page, offset, endOffsets.entryBytes, end);
}
