// Layouts and canonical pages over random plans.
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { decodeTokens } from '../../src/law/decode.js';
import { encodeTokens, type PackedTensorPlan } from '../../src/law/encode.js';
import { canonicalizePage, outlierCount, usedRanges } from '../../src/plan/canonical.js';
import { layoutBlock } from '../../src/plan/layout.js';
import { anyPlan } from '../law/page-samples.js';
import { bandScheme, normalBits } from '../law/support.js';

const TYPE_BYTES = { f16: 2, f32: 4, e4m3: 1, e8m0: 1 };

interface Plane {
  readonly name: string;
  readonly first: number;
  readonly end: number;
}

/** Every plane of a page in bytes from its start, sizes worked out from docs/block-format.md. */
function planesOf({ layout, scheme }: PackedTensorPlan): Plane[] {
  const { blockTokens, heads, headDim, bits, headBytes } = layout;
  const alongTokens = scheme.groups.along === 'tokens';
  const size = 'size' in scheme.groups ? scheme.groups.size : headDim;
  const entries = alongTokens
    ? (blockTokens / size) * headDim
    : blockTokens * (scheme.groups.along === 'channels' ? headDim / size : 1);
  const coded = scheme.quantizer.mode === 'codec' ? scheme.quantizer.groupBytes : null;
  const rows = coded !== null ? entries : alongTokens ? headDim : blockTokens;
  const rowBytes = coded ?? 4 * Math.ceil(((alongTokens ? blockTokens : headDim) * bits) / 32);
  expect(layout.codes).toMatchObject({ offset: 0, rowCount: rows, rowBytes });
  const planes: Plane[] = [];
  const add = (name: string, first: number, bytes: number) =>
    planes.push({ name, first, end: first + bytes });
  for (let head = 0; head < heads; head++) {
    const base = head * headBytes;
    add(`codes ${head}`, base, rows * rowBytes);
    if (!layout.parametersShared)
      for (const plane of layout.parameters)
        add(`${plane.name} ${head}`, base + plane.offset, entries * TYPE_BYTES[plane.type]);
    if (layout.sparse !== null) {
      const { endOffsets, entries: list } = layout.sparse;
      expect(endOffsets.chunks).toBe(Math.ceil(headDim / 64));
      expect(endOffsets.entryBytes).toBe(list.capacity <= 65535 ? 2 : 4);
      const offsets = blockTokens * endOffsets.chunks * endOffsets.entryBytes;
      add(`offsets ${head}`, base + endOffsets.offset, offsets);
      add(`outliers ${head}`, base + list.offset, list.capacity);
    }
    if (layout.top !== undefined) {
      const { count, values, channels } = layout.top;
      expect(channels.entryBytes).toBe(headDim <= 256 ? 1 : 2);
      add(`outliers ${head}`, base + values.offset, blockTokens * count * 2);
      const width = blockTokens * count * channels.entryBytes;
      add(`outlier channels ${head}`, base + channels.offset, width);
    }
  }
  if (layout.parametersShared)
    for (const plane of layout.parameters)
      add(
        `${plane.name} shared`,
        heads * headBytes + plane.offset,
        entries * TYPE_BYTES[plane.type],
      );
  return planes;
}

function filledPage(plan: PackedTensorPlan, seed: number): Uint8Array {
  const { blockTokens, heads, headDim, pageBytes } = plan.layout;
  const page = new Uint8Array(pageBytes);
  const tokens = normalBits(blockTokens * heads * headDim, seed);
  encodeTokens(plan, tokens, blockTokens, null, page, 0);
  return page;
}

function decodeAll(plan: PackedTensorPlan, page: Uint8Array, tokens: number): Float32Array[] {
  return Array.from({ length: plan.layout.heads }, (_, head) => {
    const values = new Float32Array(tokens * plan.layout.headDim);
    decodeTokens(plan, page, head, 0, tokens, values);
    return values;
  });
}

describe('layouts', () => {
  it('keep planes apart, aligned and inside the page', () => {
    fc.assert(
      fc.property(anyPlan, (plan) => {
        const { layout } = plan;
        const planes = planesOf(plan).sort((a, b) => a.first - b.first);
        let end = 0;
        for (const plane of planes) {
          expect(plane.first % 16).toBe(0);
          expect(plane.first).toBeGreaterThanOrEqual(end);
          // Never more padding than alignment asks for.
          expect(plane.first - end).toBeLessThan(16);
          end = plane.end;
        }
        expect(end).toBeLessThanOrEqual(layout.pageBytes);
        expect(layout.pageBytes - end).toBeLessThan(16);
        expect(layout.pageBytes).toBe(layout.heads * layout.headBytes + layout.sharedBytes);
      }),
      { numRuns: 300 },
    );
  });

  it('are written in full: every byte of codes and parameters of a full page is used', () => {
    fc.assert(
      fc.property(anyPlan, fc.nat(), (plan, seed) => {
        const { layout } = plan;
        const page = filledPage(plan, seed);
        const ranges = usedRanges(layout, page, layout.blockTokens);
        let at = 0;
        for (const { first, end } of ranges) {
          expect(first).toBeGreaterThanOrEqual(at);
          at = end;
        }
        expect(at).toBeLessThanOrEqual(layout.pageBytes);
        const parameters = ranges
          .filter(({ part }) => part === 'parameters')
          .reduce((sum, { first, end }) => sum + end - first, 0);
        const planes = planesOf(plan).filter(({ name }) => !/codes|offsets|outlier/.test(name));
        expect(parameters).toBe(planes.reduce((sum, { first, end }) => sum + end - first, 0));
      }),
      { numRuns: 200 },
    );
  });
});

describe('canonicalizePage', () => {
  it('keeps every visible value, clears everything else, and does so once', () => {
    fc.assert(
      fc.property(anyPlan, fc.nat(), fc.nat(), (plan, seed, a) => {
        const { layout } = plan;
        const full = filledPage(plan, seed);
        const valid = a % (layout.blockTokens + 1);
        const before = decodeAll(plan, full, valid);
        const clean = full.slice();
        canonicalizePage(layout, clean, valid);
        expect(decodeAll(plan, clean, valid)).toEqual(before);
        const again = clean.slice();
        canonicalizePage(layout, again, valid);
        expect(again).toEqual(clean);
        if (valid === 0) expect(clean.every((byte) => byte === 0)).toBe(true);
        for (let head = 0; head < layout.heads; head++)
          expect(outlierCount(layout, clean, head, valid)).toBe(
            outlierCount(layout, full, head, valid),
          );
      }),
      { numRuns: 200 },
    );
  });

  it('does not depend on what the page held before: padding, unused slots and unused bits', () => {
    fc.assert(
      fc.property(anyPlan, fc.nat(), fc.nat(), (plan, seed, a) => {
        const { layout } = plan;
        const { blockTokens, tokensPerGroup, heads, headDim } = layout;
        const groups = blockTokens / tokensPerGroup;
        const written = (1 + (a % groups)) * tokensPerGroup;
        const valid = written - (seed % tokensPerGroup);
        const tokens = normalBits(written * heads * headDim, seed);
        const zeroed = new Uint8Array(layout.pageBytes);
        const dirty = new Uint8Array(layout.pageBytes).fill(0xff);
        for (const page of [zeroed, dirty]) {
          encodeTokens(plan, tokens, written, null, page, 0);
          canonicalizePage(layout, page, valid);
        }
        expect(dirty).toEqual(zeroed);
      }),
      { numRuns: 200 },
    );
  });

  it('clears junk in the last byte of a row of tokens', () => {
    fc.assert(
      fc.property(anyPlan, fc.nat(), (plan, seed) => {
        const { layout } = plan;
        const used = layout.headDim * layout.bits;
        fc.pre(layout.codes.rows === 'tokens' && used % 32 !== 0);
        const page = filledPage(plan, seed);
        const spoiled = page.slice();
        for (let row = 0; row < layout.blockTokens; row++) {
          for (let bit = used; bit < layout.codes.rowBytes * 8; bit++) {
            const at = row * layout.codes.rowBytes + (bit >> 3);
            spoiled[at] = spoiled[at]! | (1 << (bit & 7));
          }
        }
        canonicalizePage(layout, spoiled, layout.blockTokens);
        expect(spoiled).toEqual(page);
      }),
      { numRuns: 60 },
    );
  });
});

describe('outlier end offsets', () => {
  it.each([
    [65535, 2],
    [65536, 4],
  ])('of a room of %i take %i bytes', (room, bytes) => {
    const shape = { heads: 1, headDim: 64, blockTokens: room, tensor: 'key' };
    const { sparse } = layoutBlock(bandScheme('midRise', 'head', 1), shape);
    expect(sparse?.entries.capacity).toBe(room);
    expect(sparse?.endOffsets.entryBytes).toBe(bytes);
  });
});
