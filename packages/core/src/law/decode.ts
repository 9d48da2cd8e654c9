/**
 * Decodes a packed page to f32, before the inverse transforms: the law's side of the decode rule
 * `value = scale * level(code) + zero`, in f32 with one rounding per operation.
 */
import { f16DecodeTable } from '../float16.js';
import type { BlockLayout, ParameterName } from '../plan/layout.js';
import { type BandThresholds, decodeMidRise, decodeOuter, decodeShifted } from './bands.js';
import { unpackCodes } from './bits.js';
import { decodeWithCodec } from './codec.js';
import type { PackedTensorPlan } from './encode.js';
import { GroupReader } from './group-reader.js';
import { readEndOffset, readU16 } from './page-bytes.js';
import { restoreOutliers } from './top-outliers.js';

/**
 * Values of `count` tokens of one head from slot `slot` on, written to `destination` as `[count, headDim]` starting at
 * element `at`. Keys with a channel scale come out divided by n, as stored.
 */
export function decodeTokens(
  plan: PackedTensorPlan,
  page: Uint8Array,
  head: number,
  slot: number,
  count: number,
  destination: Float32Array,
  at = 0,
): void {
  const { layout } = plan;
  const output = destination.subarray(at, at + count * layout.headDim);
  if (plan.scheme.outliers?.kind === 'bands') decodeBands(plan, page, head, slot, count, output);
  else if (plan.scheme.quantizer.mode === 'codec')
    decodeWithCodec(plan, page, head, slot, count, output);
  else if (layout.codes.rows === 'channels')
    decodeAlongTokens(plan, page, head, slot, count, output);
  else decodeAlongChannels(plan, page, head, slot, count, output);
  if (layout.top !== undefined)
    restoreOutliers(layout, layout.top, page, head, slot, count, output);
}

function decodeAlongTokens(
  plan: PackedTensorPlan,
  page: Uint8Array,
  head: number,
  slot: number,
  count: number,
  output: Float32Array,
): void {
  const { headBytes, headDim, bits, codes: plane, tokensPerGroup: size } = plan.layout;
  const reader = new GroupReader(plan, page, head);
  const codes = new Uint8Array(size);
  const end = slot + count;
  for (let group = Math.floor(slot / size); group * size < end; group++) {
    const from = Math.max(slot, group * size);
    const tokens = Math.min(end, (group + 1) * size) - from;
    for (let channel = 0; channel < headDim; channel++) {
      reader.read(group * headDim + channel);
      const row = head * headBytes + channel * plane.rowBytes;
      unpackCodes(page, row, from, tokens, bits, codes, 0);
      writeValues(reader, codes, 0, tokens, output, (from - slot) * headDim + channel, headDim);
    }
  }
}

function decodeAlongChannels(
  plan: PackedTensorPlan,
  page: Uint8Array,
  head: number,
  slot: number,
  count: number,
  output: Float32Array,
): void {
  const { headBytes, headDim, bits, codes: plane, channelsPerGroup: size } = plan.layout;
  const reader = new GroupReader(plan, page, head);
  const codes = new Uint8Array(headDim);
  const groups = headDim / size;
  for (let token = 0; token < count; token++) {
    const row = head * headBytes + (slot + token) * plane.rowBytes;
    unpackCodes(page, row, 0, headDim, bits, codes, 0);
    for (let group = 0; group < groups; group++) {
      reader.read((slot + token) * groups + group);
      const first = group * size;
      writeValues(reader, codes, first, size, output, token * headDim + first, 1);
    }
  }
}

/** Values of `count` codes of the group read last, to every `stride`-th element from `at` on. */
function writeValues(
  { levels, scale, zero, exactProducts }: GroupReader,
  codes: Uint8Array,
  first: number,
  count: number,
  output: Float32Array,
  at: number,
  stride: number,
): void {
  let to = at;
  const end = first + count;
  if (exactProducts) {
    for (let i = first; i < end; i++, to += stride)
      output[to] = (levels[codes[i] as number] as number) * scale + zero;
  } else {
    for (let i = first; i < end; i++, to += stride)
      output[to] = Math.fround((levels[codes[i] as number] as number) * scale) + zero;
  }
}

function decodeBands(
  plan: PackedTensorPlan,
  page: Uint8Array,
  head: number,
  slot: number,
  count: number,
  output: Float32Array,
): void {
  const { layout } = plan;
  const { headDim } = layout;
  const edges = plan.calibration?.thresholds as BandThresholds;
  const table = f16DecodeTable();
  const base = head * layout.headBytes;
  const parameterBase = layout.parametersShared ? layout.heads * layout.headBytes : base;
  const midRise = plan.scheme.quantizer.codes === 'midRise';
  const sparse = layout.sparse as NonNullable<BlockLayout['sparse']>;
  const nibbles = new Uint8Array(headDim);
  /** Of middle elements of a token. */
  const levels = new Float32Array(16);
  const plane = (name: ParameterName) => parameterBase + planeOffset(layout, name);
  const [middle, middleSteps] = midRise
    ? [plane('middleMaximum'), 0]
    : [plane('middleMinimum'), plane('middleStep')];
  const outerMinima = plane('outerMinimum');
  const outerSteps = plane('outerStep');
  const innerMinima = plane('innerMinimum');
  const innerSteps = plane('innerStep');
  for (let token = 0; token < count; token++) {
    const at = slot + token;
    const parameter = (offset: number) => table[readU16(page, offset + 2 * at)] as number;
    unpackCodes(page, base + at * layout.codes.rowBytes, 0, headDim, 4, nibbles, 0);
    const o = token * headDim;
    const extent = parameter(middle);
    const step = midRise ? 0 : parameter(middleSteps);
    for (let nibble = 0; nibble < 16; nibble++)
      levels[nibble] = midRise
        ? decodeMidRise(nibble, extent, edges)
        : decodeShifted(nibble, extent, step, edges);
    for (let i = 0; i < headDim; i++) output[o + i] = levels[nibbles[i] as number] as number;
    const outerMinimum = parameter(outerMinima);
    const outerStep = parameter(outerSteps);
    const innerMinimum = parameter(innerMinima);
    const innerStep = parameter(innerSteps);
    for (let chunk = 0; chunk < sparse.endOffsets.chunks; chunk++) {
      const index = at * sparse.endOffsets.chunks + chunk;
      const end = readEndOffset(page, base, layout, index);
      for (
        let entry = index === 0 ? 0 : readEndOffset(page, base, layout, index - 1);
        entry < end;
        entry++
      ) {
        const byte = page[base + sparse.entries.offset + entry] as number;
        const channel = chunk * 64 + (byte & 63);
        const nibble = nibbles[channel] as number;
        const fifth = byte >> 7;
        output[o + channel] =
          (byte & 64) !== 0
            ? decodeOuter(nibble, fifth, outerMinimum, outerStep, edges)
            : (nibble | (fifth << 4)) * innerStep + innerMinimum;
      }
    }
  }
}

function planeOffset(layout: BlockLayout, name: ParameterName): number {
  return layout.parameters.find((plane) => plane.name === name)?.offset ?? -1;
}
