/**
 * Encodes tokens with outlier bands into a packed page: dense nibbles, parameters per vector, sparse bytes.
 */
import { outlierCapacityError } from '../data-faults.js';
import type { BlockLayout, ParameterName } from '../plan/layout.js';
import { type BandThresholds, MIDDLE, OUTER } from './bands.js';
import { packCodes } from './bits.js';
import type { PackedTensorPlan } from './encode.js';
import { readEndOffset, writeEndOffset, writeU16 } from './page-bytes.js';
import {
  type BandParameters,
  type BandVector,
  bandVector,
  quantizeBands,
} from './quantize-bands.js';
import { loadValues } from './tile.js';
import type { Transforms } from './transforms.js';

/** See encodeTokens. Throws OUTLIER_CAPACITY. */
export function encodeBands(
  plan: PackedTensorPlan,
  tokens: Uint16Array,
  count: number,
  transforms: Transforms | null,
  page: Uint8Array,
  slot: number,
): void {
  const { layout, scheme } = plan;
  const { heads, headDim, parametersShared } = layout;
  const middle = scheme.quantizer.codes === 'midRise' ? 'midRise' : 'uniform';
  const edges = plan.calibration?.thresholds as BandThresholds;
  const vectorHeads = parametersShared ? heads : 1;
  const vector = new Float32Array(vectorHeads * headDim);
  const quantized = bandVector(vector.length);
  for (let token = 0; token < count; token++) {
    const at = slot + token;
    for (let head = 0; head < heads; head += vectorHeads) {
      // Heads that share a vector are one wide head.
      const source = {
        tokens,
        heads: heads / vectorHeads,
        headDim: vector.length,
        first: token,
        count: 1,
        head: head / vectorHeads,
        channelMajor: false,
      };
      loadValues(source, null, vector);
      for (let part = 0; part < vectorHeads; part++)
        transforms?.apply(vector, part * headDim, head + part);
      quantizeBands(vector, edges, middle, quantized);
      const parameterBase = parametersShared ? heads * layout.headBytes : head * layout.headBytes;
      for (const plane of layout.parameters) {
        writeU16(
          page,
          parameterBase + plane.offset + 2 * at,
          bandParameter(quantized.parameters, plane.name),
        );
      }
      for (let part = 0; part < vectorHeads; part++) {
        const base = (head + part) * layout.headBytes;
        const first = part * headDim;
        packCodes(
          quantized.nibbles,
          first,
          headDim,
          4,
          page,
          base + layout.codes.offset + at * layout.codes.rowBytes,
        );
        writeOutliers(plan, page, base, at, head + part, quantized, first);
      }
    }
  }
}

/** Appends the sparse bytes of one token of one head: index | outer << 6 | fifth bit << 7, and its end offsets. */
function writeOutliers(
  plan: PackedTensorPlan,
  page: Uint8Array,
  base: number,
  at: number,
  head: number,
  vector: BandVector,
  first: number,
): void {
  const { layout } = plan;
  const { endOffsets, entries } = layout.sparse as NonNullable<BlockLayout['sparse']>;
  let end = at === 0 ? 0 : readEndOffset(page, base, layout, at * endOffsets.chunks - 1);
  for (let chunk = 0; chunk < endOffsets.chunks; chunk++) {
    const width = Math.min(64, layout.headDim - chunk * 64);
    for (let index = 0; index < width; index++) {
      const i = first + chunk * 64 + index;
      const band = vector.bands[i] as number;
      if (band === MIDDLE) continue;
      if (end === entries.capacity) throw outlierCapacityError(plan, head);
      page[base + entries.offset + end++] =
        index | (band === OUTER ? 64 : 0) | ((vector.fifthBits[i] as number) << 7);
    }
    writeEndOffset(page, base, layout, at * endOffsets.chunks + chunk, end);
  }
}

function bandParameter(parameters: BandParameters, name: ParameterName): number {
  return parameters[name as keyof BandParameters];
}
