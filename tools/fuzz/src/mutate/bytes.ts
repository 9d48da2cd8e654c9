/**
 * Changes of bytes that know nothing of their format: cut, lengthened, moved, overwritten with numbers that are edges.
 */
import type { Random } from '../random.js';

/** Sizes and offsets that are edges of their types. */
const EDGES = [
  ...[0n, 1n, 2n, 7n, 8n, 255n, 256n, 65_535n, 65_536n, 0x7fff_ffffn, 0x8000_0000n],
  ...[0xffff_ffffn, 0x1_0000_0000n, 2n ** 53n - 1n, 2n ** 53n, 2n ** 63n - 1n, 2n ** 64n - 1n],
];

type Change = (random: Random, bytes: Uint8Array) => Uint8Array;

const CHANGES: readonly Change[] = [flipBit, setByte, writeEdge, truncate, lengthen, remove];
const MOVES: readonly Change[] = [repeat, swapPieces, reverse, overlap];

/** One to four changes. */
export function mutateBytes(random: Random, bytes: Uint8Array): Uint8Array {
  let changed = bytes;
  for (let left = 1 + random.small(4); left > 0; left--)
    changed = random.pick(random.chance(0.7) ? CHANGES : MOVES)(random, changed);
  return changed;
}

/** The beginning, where headers are, is hit more often. */
function placeIn(random: Random, bytes: Uint8Array): number {
  return random.chance(0.5) ? random.below(bytes.length) : random.small(bytes.length);
}

function flipBit(random: Random, bytes: Uint8Array): Uint8Array {
  const copy = Uint8Array.from(bytes);
  const at = placeIn(random, copy);
  if (copy.length > 0) copy[at] = (copy[at] as number) ^ (1 << random.below(8));
  return copy;
}

function setByte(random: Random, bytes: Uint8Array): Uint8Array {
  const copy = Uint8Array.from(bytes);
  if (copy.length > 0) copy[placeIn(random, copy)] = random.below(256);
  return copy;
}

/** A number of 2, 4 or 8 bytes in one of the two byte orders. */
function writeEdge(random: Random, bytes: Uint8Array): Uint8Array {
  const size = random.pick([2, 4, 8]);
  if (bytes.length < size) return bytes;
  const copy = Uint8Array.from(bytes);
  const view = new DataView(copy.buffer);
  const at = Math.min(placeIn(random, copy), copy.length - size);
  const little = random.chance(0.7);
  const edge = random.pick(EDGES);
  if (size === 8) view.setBigUint64(at, edge, little);
  else if (size === 4) view.setUint32(at, Number(edge & 0xffff_ffffn), little);
  else view.setUint16(at, Number(edge & 0xffffn), little);
  return copy;
}

function truncate(random: Random, bytes: Uint8Array): Uint8Array {
  return bytes.slice(0, random.chance(0.5) ? random.below(bytes.length) : bytes.length - 1);
}

function lengthen(random: Random, bytes: Uint8Array): Uint8Array {
  const more = new Uint8Array(random.pick([1, 2, 8, 64, 4096])).fill(random.pick([0, 32, 255]));
  return joined(bytes, more);
}

function remove(random: Random, bytes: Uint8Array): Uint8Array {
  const at = placeIn(random, bytes);
  return joined(bytes.subarray(0, at), bytes.subarray(at + 1 + random.small(64)));
}

function repeat(random: Random, bytes: Uint8Array): Uint8Array {
  const at = placeIn(random, bytes);
  const piece = bytes.subarray(at, at + 1 + random.small(256));
  return joined(bytes.subarray(0, at), piece, bytes.subarray(at));
}

function swapPieces(random: Random, bytes: Uint8Array): Uint8Array {
  const size = random.pick([1, 2, 4, 8, 32]);
  const [a, b] = [placeIn(random, bytes), placeIn(random, bytes)];
  if (Math.max(a, b) + size > bytes.length) return flipBit(random, bytes);
  const copy = Uint8Array.from(bytes);
  copy.set(bytes.subarray(b, b + size), a);
  copy.set(bytes.subarray(a, a + size), b);
  return copy;
}

/** The other byte order of a number. */
function reverse(random: Random, bytes: Uint8Array): Uint8Array {
  const copy = Uint8Array.from(bytes);
  const at = placeIn(random, copy);
  copy.subarray(at, at + random.pick([2, 4, 8])).reverse();
  return copy;
}

function overlap(random: Random, bytes: Uint8Array): Uint8Array {
  const copy = Uint8Array.from(bytes);
  const from = placeIn(random, copy);
  copy.copyWithin(placeIn(random, copy), from, from + random.below(256));
  return copy;
}

export function joined(...parts: readonly Uint8Array[]): Uint8Array {
  const all = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
  let at = 0;
  for (const part of parts) {
    all.set(part, at);
    at += part.length;
  }
  return all;
}
