/**
 * Outliers of a head as the integer attention walks over them, from and to canonical bytes: pack-lines.wgsl does the same on the
 * device and draws the format.
 */
import type { BlockLayout, TensorPlan } from '@lowbit-kv/core';

/** Lines of a head: tokens of keys, channels of values. */
const LINES = 128;
const LANES = 32;
const VECTOR_BYTES = 16;
const VECTOR_RECORDS = 8;
const TABLE_VECTORS = (4 * LINES) / VECTOR_BYTES;
const CHUNKS = 2;
/** With the table. */
const MOST_VECTORS = 384;
const NO_RECORD = 0x4000;
const CLOSED = 0x8000;

interface Entry {
  readonly token: number;
  readonly channel: number;
  /** Canonical. */
  readonly byte: number;
}

/** A head block with codes in canonical order. */
interface Block {
  readonly codes: Uint8Array;
  readonly ends: DataView;
  readonly sparse: Uint8Array;
  readonly lastEnd: number;
  readonly isKey: boolean;
}

/** Lines to bytes, in place; codes are canonical afterwards. */
export function openLines(plan: TensorPlan, bytes: Uint8Array): void {
  const { codes, ends, sparse, lastEnd, isKey } = blockOf(plan, bytes);
  mapCodes(codes, (code) => (code < 8 ? code ^ 15 : code ^ 8));
  const last = ends.getUint16(lastEnd, true);
  if (last < CLOSED) return;
  ends.setUint16(lastEnd, last & ~CLOSED, true);
  const words = viewOf(sparse);
  const entries: (Entry & { readonly code: number })[] = [];
  for (let i = 0; i < LINES; i++) {
    const word = words.getUint32(4 * i, true);
    const [line, first, count] = [word & 0xff, (word >>> 8) & 0xffff, word >>> 24];
    for (let r = first * VECTOR_RECORDS; r < (first + count) * VECTOR_RECORDS; r++) {
      const record = words.getUint16(2 * r, true);
      const position = (record >>> 7) & 0xff;
      if (position === LINES) continue;
      const [token, channel] = isKey ? [line, position] : [position, line];
      const [outer, code] = [record & 1, (record >>> 2) & 31];
      const fifth = outer === 1 ? record >>> 15 : code >>> 4;
      const byte = (channel % 64) | (outer << 6) | (fifth << 7);
      entries.push({ token, channel, byte, code: code & 15 });
    }
  }
  entries.sort((a, b) => a.token - b.token || a.channel - b.channel);
  sparse.fill(0);
  for (const [i, { token, channel, byte, code }] of entries.entries()) {
    sparse[i] = byte;
    setCode(codes, token, channel, code);
  }
}

/** Bytes to lines where they have room, the opposite of `openLines`. */
export function closeLines(plan: TensorPlan, bytes: Uint8Array): void {
  const block = blockOf(plan, bytes);
  const { codes, ends, sparse, lastEnd, isKey } = block;
  const lines: Entry[][] = Array.from({ length: LINES }, () => []);
  for (const entry of entriesOf(block)) lines[isKey ? entry.token : entry.channel]?.push(entry);
  const counts = lines.map((entries) => Math.ceil(entries.length / VECTOR_RECORDS));
  const needed = TABLE_VECTORS + counts.reduce((sum, count) => sum + count, 0);
  if (needed <= Math.min(MOST_VECTORS, Math.floor(sparse.length / VECTOR_BYTES))) {
    const words = new DataView(new ArrayBuffer(needed * VECTOR_BYTES));
    for (let at = 0; at < words.byteLength; at += 2) words.setUint16(at, NO_RECORD, true);
    // Heaviest first: lines that lanes walk over at the same time are of about one length.
    const order = Array.from(lines.keys()).sort(
      (a, b) => (counts[b] as number) - (counts[a] as number) || a - b,
    );
    let first = TABLE_VECTORS;
    for (const [rank, line] of order.entries()) {
      const count = counts[line] as number;
      const place = (rank % LANES) * 4 + Math.floor(rank / LANES);
      words.setUint32(4 * place, line | ((count === 0 ? 0 : first) << 8) | (count << 24), true);
      for (const [i, { token, channel, byte }] of (lines[line] as Entry[]).entries()) {
        const code = codeOf(codes, token, channel);
        const [outer, fifth] = [(byte >>> 6) & 1, byte >>> 7];
        const side = outer & fifth;
        const wide = outer === 1 ? code : code | (fifth << 4);
        const position = isKey ? channel : token;
        const record = outer | (wide << 2) | (position << 7) | (side << 15);
        words.setUint16(first * VECTOR_BYTES + 2 * i, record, true);
        setCode(codes, token, channel, 8 * side);
      }
      first += count;
    }
    sparse.fill(0);
    sparse.set(new Uint8Array(words.buffer));
    ends.setUint16(lastEnd, ends.getUint16(lastEnd, true) | CLOSED, true);
  }
  mapCodes(codes, (code) => (code < 8 ? code ^ 8 : code ^ 15));
}

function blockOf({ layout, tensor }: TensorPlan, bytes: Uint8Array): Block {
  const { codes, sparse, blockTokens } = layout as BlockLayout;
  if (sparse === null) throw new TypeError('a head without outliers has no lines');
  const { offset, capacity } = sparse.entries;
  const endBytes = 2 * CHUNKS * blockTokens;
  const ends = sparse.endOffsets.offset;
  return {
    codes: bytes.subarray(0, codes.rowCount * codes.rowBytes),
    ends: viewOf(bytes.subarray(ends, ends + endBytes)),
    sparse: bytes.subarray(offset, offset + capacity),
    lastEnd: endBytes - 2,
    isKey: tensor === 'key',
  };
}

function viewOf({ buffer, byteOffset, byteLength }: Uint8Array): DataView {
  return new DataView(buffer, byteOffset, byteLength);
}

function* entriesOf({ ends, sparse }: Block): Generator<Entry> {
  let first = 0;
  for (let chunk = 0; chunk < ends.byteLength / 2; chunk++) {
    const end = ends.getUint16(2 * chunk, true);
    for (let i = first; i < end; i++) {
      const byte = sparse[i] as number;
      const channel = (chunk % CHUNKS) * 64 + (byte & 63);
      yield { token: Math.floor(chunk / CHUNKS), channel, byte };
    }
    first = end;
  }
}

function codeOf(codes: Uint8Array, token: number, channel: number): number {
  return ((codes[64 * token + (channel >> 1)] as number) >> (4 * (channel & 1))) & 15;
}

function setCode(codes: Uint8Array, token: number, channel: number, code: number): void {
  const at = 64 * token + (channel >> 1);
  const shift = 4 * (channel & 1);
  codes[at] = ((codes[at] as number) & ~(15 << shift)) | (code << shift);
}

function mapCodes(codes: Uint8Array, map: (code: number) => number): void {
  for (const [i, byte] of codes.entries()) codes[i] = map(byte & 15) | (map(byte >> 4) << 4);
}
