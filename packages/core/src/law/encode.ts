/**
 * Encodes f16 tokens into a packed page: the law's side of the pack job.
 */
import { LowbitKvError } from '../errors.js';
import { f16DecodeTable } from '../float16.js';
import { type BlockLayout, outliersPerVector, type ParameterName } from '../plan/layout.js';
import type { TensorPlan } from '../plan/plan.js';
import type { QuantizedTensorScheme } from '../scheme.js';
import { quantizeAsymmetric } from './asymmetric.js';
import {
  type BandParameters,
  type BandThresholds,
  emptyBandParameters,
  MIDDLE,
  OUTER,
  quantizeBands,
} from './bands.js';
import { packCodes } from './bits.js';
import { quantizeHybrid } from './hybrid.js';
import { quantizeSymmetric, type SymmetricCodes } from './symmetric.js';

/** A tensor plan that is packed. */
export interface PackedTensorPlan extends TensorPlan {
  readonly scheme: QuantizedTensorScheme;
  readonly layout: BlockLayout;
}

/**
 * Writes `count` tokens into slots `slot ...` of `page`. `tokens` holds f16 bits `[count, heads, headDim]`,
 * `reciprocals` the statistics page of the sequence. Slots before `slot` are not touched. Throws OUTLIER_CAPACITY.
 */
export function encodeTokens(
  plan: PackedTensorPlan,
  tokens: Uint16Array,
  count: number,
  reciprocals: Uint16Array | null,
  page: Uint8Array,
  slot: number,
): void {
  if (plan.scheme.outliers?.kind === 'bands')
    encodeBands(plan, tokens, count, reciprocals, page, slot);
  else encodeGroups(plan, tokens, count, reciprocals, page, slot);
}

function encodeGroups(
  plan: PackedTensorPlan,
  tokens: Uint16Array,
  count: number,
  reciprocals: Uint16Array | null,
  page: Uint8Array,
  slot: number,
): void {
  const { layout, scheme } = plan;
  const { heads, headDim, bits, codes: plane } = layout;
  const alongTokens = plane.rows === 'channels';
  const size = alongTokens ? layout.tokensPerGroup : layout.channelsPerGroup;
  // A tile is what one call of the quantizer sees: a run of tokens that fills whole groups.
  const tileTokens = layout.tokensPerGroup;
  const groups = (tileTokens * headDim) / size;
  const tile = new Float32Array(tileTokens * headDim);
  const codes = new Uint8Array(tile.length);
  const scales = new Uint16Array(groups);
  const zeros = new Uint16Array(groups);
  for (let head = 0; head < heads; head++) {
    const base = head * layout.headBytes;
    for (let first = 0; first < count; first += tileTokens) {
      loadTile(tokens, first, tileTokens, head, heads, headDim, reciprocals, alongTokens, tile);
      quantize(scheme, tile, groups, size, codes, scales, zeros);
      const at = slot + first;
      if (alongTokens) {
        const offset = base + plane.offset + (at * bits) / 8;
        for (let channel = 0; channel < headDim; channel++) {
          packCodes(codes, channel * size, size, bits, page, offset + channel * plane.rowBytes);
        }
      } else {
        packCodes(codes, 0, headDim, bits, page, base + plane.offset + at * plane.rowBytes);
      }
      const firstGroup = (at / layout.tokensPerGroup) * (headDim / layout.channelsPerGroup);
      for (const parameter of layout.parameters) {
        const source = parameter.name === 'zero' ? zeros : scales;
        const offset = base + parameter.offset + firstGroup * 2;
        for (let i = 0; i < groups; i++) writeU16(page, offset + 2 * i, source[i] as number);
      }
    }
  }
}

/** f32 values of a tile, group after group: `[channel, token]` along tokens, else `[token, channel]`. */
function loadTile(
  tokens: Uint16Array,
  first: number,
  tileTokens: number,
  head: number,
  heads: number,
  headDim: number,
  reciprocals: Uint16Array | null,
  transpose: boolean,
  tile: Float32Array,
): void {
  const table = f16DecodeTable();
  const channelStride = transpose ? tileTokens : 1;
  const tokenStride = transpose ? 1 : headDim;
  for (let token = 0; token < tileTokens; token++) {
    let from = ((first + token) * heads + head) * headDim;
    let to = token * tokenStride;
    if (reciprocals === null) {
      for (let channel = 0; channel < headDim; channel++, to += channelStride) {
        tile[to] = table[tokens[from++] as number] as number;
      }
    } else {
      for (let channel = 0; channel < headDim; channel++, to += channelStride) {
        const factor = table[reciprocals[head * headDim + channel] as number] as number;
        tile[to] = (table[tokens[from++] as number] as number) * factor;
      }
    }
  }
}

function quantize(
  scheme: QuantizedTensorScheme,
  tile: Float32Array,
  groups: number,
  size: number,
  codes: Uint8Array,
  scales: Uint16Array,
  zeros: Uint16Array,
): void {
  const { quantizer, bits } = scheme;
  if (quantizer.mode === 'asymmetric')
    quantizeAsymmetric(tile, groups, size, bits, codes, scales, zeros);
  else if (quantizer.mode === 'hybrid')
    quantizeHybrid(tile, groups, size, bits, quantizer, codes, scales, zeros);
  else
    quantizeSymmetric(tile, groups, size, bits, quantizer.codes as SymmetricCodes, codes, scales);
}

function encodeBands(
  plan: PackedTensorPlan,
  tokens: Uint16Array,
  count: number,
  reciprocals: Uint16Array | null,
  page: Uint8Array,
  slot: number,
): void {
  const { layout, scheme } = plan;
  const { heads, headDim, parametersShared } = layout;
  const middle = scheme.quantizer.codes === 'midRise' ? 'midRise' : 'uniform';
  const edges = plan.calibration?.thresholds as BandThresholds;
  const vectorHeads = parametersShared ? heads : 1;
  const vector = new Float32Array(vectorHeads * headDim);
  const nibbles = new Uint8Array(vector.length);
  const bands = new Uint8Array(vector.length);
  const fifthBits = new Uint8Array(vector.length);
  const parameters = emptyBandParameters();
  for (let token = 0; token < count; token++) {
    const at = slot + token;
    for (let head = 0; head < heads; head += vectorHeads) {
      loadTile(
        tokens,
        token,
        1,
        head / vectorHeads,
        heads / vectorHeads,
        vector.length,
        reciprocals,
        false,
        vector,
      );
      quantizeBands(vector, edges, middle, nibbles, bands, fifthBits, parameters);
      const parameterBase = parametersShared ? heads * layout.headBytes : head * layout.headBytes;
      for (const plane of layout.parameters) {
        writeU16(
          page,
          parameterBase + plane.offset + 2 * at,
          bandParameter(parameters, plane.name),
        );
      }
      for (let part = 0; part < vectorHeads; part++) {
        const base = (head + part) * layout.headBytes;
        const first = part * headDim;
        packCodes(
          nibbles,
          first,
          headDim,
          4,
          page,
          base + layout.codes.offset + at * layout.codes.rowBytes,
        );
        writeOutliers(plan, page, base, at, {
          head: head + part,
          first,
          nibbles,
          bands,
          fifthBits,
        });
      }
    }
  }
}

interface VectorOutliers {
  readonly head: number;
  readonly first: number;
  readonly nibbles: Uint8Array;
  readonly bands: Uint8Array;
  readonly fifthBits: Uint8Array;
}

/** Appends the sparse bytes of one token of one head: index | outer << 6 | fifth bit << 7, and its end offsets. */
function writeOutliers(
  plan: PackedTensorPlan,
  page: Uint8Array,
  base: number,
  at: number,
  vector: VectorOutliers,
): void {
  const { layout } = plan;
  const { endOffsets, entries } = layout.sparse as NonNullable<BlockLayout['sparse']>;
  let end = at === 0 ? 0 : readEndOffset(page, base, layout, at * endOffsets.chunks - 1);
  const limit = Math.floor(entries.capacity / layout.blockTokens);
  const start = end;
  for (let chunk = 0; chunk < endOffsets.chunks; chunk++) {
    const width = Math.min(64, layout.headDim - chunk * 64);
    for (let index = 0; index < width; index++) {
      const i = vector.first + chunk * 64 + index;
      const band = vector.bands[i] as number;
      if (band === MIDDLE) continue;
      if (end - start === limit) refuseOutliers(plan, vector, limit);
      page[base + entries.offset + end++] =
        index | (band === OUTER ? 64 : 0) | ((vector.fifthBits[i] as number) << 7);
    }
    const offset =
      base + endOffsets.offset + (at * endOffsets.chunks + chunk) * endOffsets.entryBytes;
    writeU16(page, offset, end & 0xffff);
    if (endOffsets.entryBytes === 4) writeU16(page, offset + 2, end >>> 16);
  }
}

function refuseOutliers(plan: PackedTensorPlan, vector: VectorOutliers, limit: number): never {
  const { headDim } = plan.layout;
  const found = vector.bands
    .subarray(vector.first, vector.first + headDim)
    .reduce((n, band) => n + (band === MIDDLE ? 0 : 1), 0);
  const reserve = plan.scheme.outliers?.kind === 'bands' ? plan.scheme.outliers.storage.reserve : 0;
  throw new LowbitKvError('OUTLIER_CAPACITY', {
    message: 'a vector has more outliers than there is room for',
    value: found,
    valid: `at most ${limit} of ${outliersPerVector(headDim, 64)} elements (reserve ${reserve} per 64 channels)`,
    next: 'Raise outliers.storage.reserve to 64, or calibrate the thresholds on data like this.',
    where: { tensor: plan.tensor, head: vector.head },
  });
}

/** End offset number `index` (token * chunks + chunk) of a head block. */
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

function bandParameter(parameters: BandParameters, name: ParameterName): number {
  return parameters[name as keyof BandParameters];
}

export function readU16(bytes: Uint8Array, offset: number): number {
  return (bytes[offset] as number) | ((bytes[offset + 1] as number) << 8);
}

function writeU16(bytes: Uint8Array, offset: number, value: number): void {
  bytes[offset] = value & 255;
  bytes[offset + 1] = value >>> 8;
}
