/**
 * Launches of the pack kernel with what must come out of them: rows in windows and in the input, pages full of old bytes, and
 * memory as the reference leaves it.
 */
import { encodeTokens, WINDOW_PAGE_TOKENS } from '@lowbit-kv/core';
import { createDraws } from '@lowbit-kv/core/testing';
import { type PageLayout, pageMover } from '../../../src/pages/page-layout.js';
import { dataOf } from './data.js';
import { type Instance, planOf } from './instances.js';

const PACK_WORDS = 8;
const ALIGNMENT = 128;

export interface LaunchShape {
  readonly heads: number;
  /** Kinds of data of the heads. */
  readonly kinds: readonly string[];
  readonly packs: readonly PackShape[];
}

export interface PackShape {
  readonly slot: number;
  readonly count: number;
  /** Tokens of it that are in window pages. The rest is in the input. */
  readonly windowed: number;
}

export interface Launch {
  /** Bytes of a job of pack-host.cpp. */
  readonly job: Uint8Array;
  readonly expected: Uint8Array;
}

interface Rows {
  readonly offset: number;
  readonly tokenStride: number;
  readonly headStride: number;
  readonly count: number;
}

export function launchOf(
  instance: Instance,
  number: number,
  shape: LaunchShape,
  seed: number,
): Launch {
  const { heads, kinds, packs } = shape;
  const { headDim } = instance;
  const plan = planOf(instance, heads);
  const mover = pageMover(plan);
  const headBytes = mover.layout.bytes;
  // A gap between heads, as where keys and values lie side by side.
  const headStep = headBytes + ALIGNMENT;
  const memory = new Memory(seed);
  const table: number[] = [];
  const spans: number[] = [];
  const writes: ((expected: Uint8Array) => void)[] = [];
  for (const { slot, count, windowed } of packs) {
    const tokens = dataOf(kinds, { tokens: count, heads, headDim }, seed + slot);
    const rows = memory.rows(tokens, { heads, headDim, count, windowed });
    const page = memory.take(heads * headStep);
    const firstSpan = packs.length * PACK_WORDS + spans.length;
    const factors = instance.hasFactors ? memory.factors(heads * headDim) : null;
    table.push(page, 0, slot, count, firstSpan, rows.length, factors?.offset ?? 0, 0);
    let before = 0;
    for (const { offset, tokenStride, headStride, count: some } of rows) {
      spans.push(before, tokenStride, offset, 0, headStride, 0);
      before += some;
    }
    const block = new Uint8Array(plan.layout.pageBytes);
    encodeTokens(plan, tokens, count, factors?.bits ?? null, block, slot);
    writes.push((expected) => {
      for (let head = 0; head < heads; head++) {
        const piece = expected.subarray(page + head * headStep, page + head * headStep + headBytes);
        mover.toPiece(block, head, piece, slot, slot + count);
        if (slot === 0) clearParameters(mover.layout, piece, count);
      }
    });
  }
  const before = memory.bytes();
  // A copy: `slice` of a buffer is none.
  const expected = Uint8Array.from(before);
  for (const write of writes) write(expected);
  const words = [...table, ...spans];
  const headTiles = heads * Math.ceil(headDim / 128);
  const header = [number, headTiles, packs.length, headStep, before.length, words.length];
  const job = Buffer.concat([
    Buffer.from(Uint32Array.from(header).buffer),
    before,
    Buffer.from(Uint32Array.from(words).buffer),
  ]);
  return { job, expected };
}

/** Of groups that begin at a slot or later: a pack that begins a page leaves nothing of what the page was. */
function clearParameters(layout: PageLayout, piece: Uint8Array, first: number): void {
  const { groupSize, along, hasZero } = layout.shape;
  for (let group = 0; group < layout.groups; group++) {
    for (let other = 0; other < layout.others; other++) {
      if ((along === 'tokens' ? group * groupSize : other) < first) continue;
      for (const plane of hasZero ? [layout.scaleByte, layout.zeroByte] : [layout.scaleByte]) {
        const at = plane + 2 * layout.parameterPlace(group, other);
        piece.fill(0, at, at + 2);
      }
    }
  }
}

/** Memory that begins full of noise. */
class Memory {
  readonly #pieces: Uint8Array[] = [];
  readonly #draw: () => number;
  #end = 0;

  constructor(seed: number) {
    this.#draw = createDraws(seed + 1);
  }

  take(bytes: number): number {
    const size = Math.ceil(bytes / ALIGNMENT) * ALIGNMENT;
    const piece = new Uint8Array(size);
    for (let i = 0; i < size; i++) piece[i] = this.#draw();
    this.#pieces.push(piece);
    this.#end += size;
    return this.#end - size;
  }

  /** Puts tokens into window pages `[heads, tokens, headDim]`, and what is left as an input `[tokens, heads, headDim]`. */
  rows(
    tokens: Uint16Array,
    {
      heads,
      headDim,
      count,
      windowed,
    }: { heads: number; headDim: number; count: number; windowed: number },
  ): Rows[] {
    const rows: Rows[] = [];
    const width = heads * headDim;
    for (let first = 0; first < windowed; first += WINDOW_PAGE_TOKENS) {
      // Their last slots: windows are seldom read from their beginning.
      const some = Math.min(WINDOW_PAGE_TOKENS, windowed - first);
      const skipped = WINDOW_PAGE_TOKENS - some;
      const offset = this.take(2 * width * WINDOW_PAGE_TOKENS);
      const page = this.#halves();
      for (let head = 0; head < heads; head++) {
        for (let row = 0; row < some; row++) {
          const from = (first + row) * width + head * headDim;
          const to = (head * WINDOW_PAGE_TOKENS + skipped + row) * headDim;
          page.set(tokens.subarray(from, from + headDim), to);
        }
      }
      rows.push({
        offset: offset + 2 * skipped * headDim,
        tokenStride: headDim,
        headStride: WINDOW_PAGE_TOKENS * headDim,
        count: some,
      });
    }
    if (windowed < count) {
      // Rows of a wider tensor, as where queries, keys and values are one.
      const tokenStride = width + 64;
      const offset = this.take(2 * tokenStride * (count - windowed));
      const input = this.#halves();
      for (let token = windowed; token < count; token++) {
        const row = tokens.subarray(token * width, (token + 1) * width);
        input.set(row, (token - windowed) * tokenStride);
      }
      rows.push({ offset, tokenStride, headStride: headDim, count: count - windowed });
    }
    return rows;
  }

  /** A statistics page of one transform: f16 numbers from 2^-6 to 2^6. */
  factors(count: number): { readonly offset: number; readonly bits: Uint16Array } {
    const offset = this.take(2 * count);
    const bits = this.#halves().subarray(0, count);
    for (let i = 0; i < count; i++) bits[i] = 0x2400 + ((this.#draw() * 3) % 0x3000);
    return { offset, bits };
  }

  bytes(): Uint8Array {
    return Buffer.concat(this.#pieces);
  }

  /** What was taken last. */
  #halves(): Uint16Array {
    const last = this.#pieces.at(-1) as Uint8Array;
    return new Uint16Array(last.buffer, last.byteOffset, last.length / 2);
  }
}

/** Where two memories differ first, and at how many bytes; undefined where they are equal. */
export function differenceOf(
  actual: Uint8Array,
  expected: Uint8Array,
): { readonly first: number; readonly bytes: number } | undefined {
  if (Buffer.compare(actual, expected) === 0) return undefined;
  const places = [...expected.keys()].filter((i) => actual[i] !== expected[i]);
  return { first: places[0] ?? expected.length, bytes: places.length };
}
