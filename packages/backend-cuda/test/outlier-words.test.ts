// Pages of bands whose outliers are words, as the host sees them.
import { createPlan, encodeTokens, f32ToF16, type PackedTensorPlan } from '@lowbit-kv/core';
import { bands, inlineCalibration, inlineScheme, lcgNormal } from '@lowbit-kv/core/testing';
import { describe, expect, it } from 'vitest';
import { outlierWords } from '../src/pages/outlier-words.js';

const HEADS = 3;
const TOKENS = 128;

function planOf(
  headDim: number,
  reserve: number,
): { key: PackedTensorPlan; value: PackedTensorPlan } {
  const tensor = bands('midRise', 'head', reserve);
  const scheme = inlineScheme({ key: tensor, value: tensor });
  const geometry = {
    ...{ layers: 1, queryHeads: HEADS, kvHeads: HEADS },
    ...{ keyHeadDim: headDim, valueHeadDim: headDim },
  };
  const calibration = inlineCalibration(scheme, geometry)!;
  const { layers } = createPlan(scheme, geometry, { blockTokens: TOKENS, calibration });
  return layers[0] as unknown as { key: PackedTensorPlan; value: PackedTensorPlan };
}

/** A canonical page of normal values, of which 18 % are outliers. */
function pageOf(plan: PackedTensorPlan, tokens: number): Uint8Array {
  const page = new Uint8Array(plan.layout.pageBytes);
  const shape = [tokens, HEADS, plan.headDim];
  const rows = Uint16Array.from(lcgNormal({ shape, seed: 4, dtype: 'f32' }), f32ToF16);
  encodeTokens(plan, rows, tokens, null, page, 0);
  return page;
}

const firstEnd = ({ layout }: PackedTensorPlan, page: Uint8Array) =>
  new DataView(page.buffer).getUint16(layout.sparse!.endOffsets.offset, true);

describe.each([64, 128])('head dim %i', (headDim) => {
  describe.each(['key', 'value'] as const)('%s', (tensor) => {
    it.each([1, 77, TOKENS])('%i tokens come back', (tokens) => {
      const plan = planOf(headDim, 40)[tensor];
      const { toCanonical, fromCanonical } = outlierWords(plan);
      const block = pageOf(plan, tokens);
      const before = block.slice();
      const page = fromCanonical(block);
      expect(block).toEqual(before);
      expect(page).not.toEqual(block);
      expect(toCanonical(page)).toEqual(block);
    });

    it('has a place of its own for each element of a tile', () => {
      const plan = planOf(headDim, 40)[tensor];
      const page = outlierWords(plan).fromCanonical(pageOf(plan, TOKENS));
      const { entries, endOffsets } = plan.layout.sparse!;
      const view = new DataView(page.buffer);
      const blockTokens = 1024 / headDim;
      let begin = 0;
      for (let token = blockTokens; token <= TOKENS; token += blockTokens) {
        const end = view.getUint16(endOffsets.offset + 2 * (token * endOffsets.chunks - 1), true);
        const places = Array.from(
          { length: end - begin },
          (_, i) => (view.getUint16(entries.offset + 2 * (begin + i), true) >> 3) % 1024,
        );
        expect(new Set(places).size).toBe(end - begin);
        begin = end;
      }
      expect(begin).toBeGreaterThan(0);
    });

    it('keeps bytes where words have no room, and says so', () => {
      const plan = planOf(headDim, 15)[tensor];
      const { toCanonical, fromCanonical } = outlierWords(plan);
      const [few, many] = [pageOf(plan, 60), pageOf(plan, TOKENS)];
      expect(firstEnd(plan, fromCanonical(few)) & 0x8000).toBe(0);
      const page = fromCanonical(many);
      expect(firstEnd(plan, page)).toBe(firstEnd(plan, many) | 0x8000);
      for (const block of [few, many]) expect(toCanonical(fromCanonical(block))).toEqual(block);
    });
  });
});
