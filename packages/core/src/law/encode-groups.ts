/**
 * Encodes tokens whose groups run along tokens or channels into a packed page.
 */
import { type BlockLayout, PARAMETER_BYTES } from '../plan/layout.js';
import type { QuantizedTensorScheme } from '../scheme.js';
import { asymmetricKernel, KERNEL_ELEMENTS } from './asymmetric-f16.js';
import { packCodes } from './bits.js';
import type { PackedTensorPlan } from './encode.js';
import { writeNumber, writeU16 } from './page-bytes.js';
import type { ParameterBits } from './parameters.js';
import { groupQuantizer } from './quantize.js';
import { loadValues, type TileSource } from './tile.js';
import { outlierTaker } from './top-outliers.js';
import type { Transforms } from './transforms.js';

/** Elements of a tile when groups run along channels: enough groups to keep the processor busy, inside its first cache. */
const TILE_ELEMENTS = 2048;

/** See encodeTokens. `count` is whole groups. */
export function encodeGroups(
  plan: PackedTensorPlan,
  tokens: Uint16Array,
  count: number,
  transforms: Transforms | null,
  page: Uint8Array,
  slot: number,
): void {
  const { layout } = plan;
  const { heads, headDim } = layout;
  const channelMajor = layout.codes.rows === 'channels';
  const tileTokens = channelMajor
    ? layout.tokensPerGroup
    : Math.min(count, Math.max(1, Math.floor(TILE_ELEMENTS / headDim)));
  const encodeTile =
    (transforms === null ? fusedEncoder(plan, tileTokens) : undefined) ??
    plainEncoder(plan, tileTokens, transforms);
  for (let head = 0; head < heads; head++) {
    for (let first = 0; first < count; first += tileTokens) {
      const size = Math.min(tileTokens, count - first);
      encodeTile(
        { tokens, heads, headDim, first, count: size, head, channelMajor },
        page,
        slot + first,
      );
    }
  }
}

/** Encodes one tile into the slots from `slot` on. */
type TileEncoder = (source: TileSource, page: Uint8Array, slot: number) => void;

/** Every quantizer: values as f32, codes as bytes, then packed. */
function plainEncoder(
  plan: PackedTensorPlan,
  tileTokens: number,
  transforms: Transforms | null,
): TileEncoder {
  const { layout, scheme } = plan;
  const { headDim, bits, codes: plane } = layout;
  const size = groupSize(layout);
  const tile = new Float32Array(tileTokens * headDim);
  const { codes, scales, zeros, quantize } = groupQuantizer(scheme, tile.length / size, size);
  return (source, page, slot) => {
    const groups = (source.count * headDim) / size;
    const take = layout.top && outlierTaker(layout, layout.top, page, source.head);
    loadValues(source, transforms, tile, take, slot);
    quantize(tile, groups);
    const offset = codesOffset(layout, source.head, slot);
    const rows = source.channelMajor ? headDim : source.count;
    const width = source.channelMajor ? size : headDim;
    for (let row = 0; row < rows; row++)
      packCodes(codes, row * width, width, bits, page, offset + row * plane.rowBytes);
    writeParameters(layout, source.head, slot, groups, scales, zeros, page);
  };
}

/** The fast path for asymmetric groups of f16 values, where there is one. */
function fusedEncoder(plan: PackedTensorPlan, tileTokens: number): TileEncoder | undefined {
  const { layout, scheme } = plan;
  const { headDim, bits, codes: plane } = layout;
  const size = groupSize(layout);
  const packedRow = (headDim * bits) / 8;
  if (!isUniformF16(scheme) || (bits !== 2 && bits !== 4) || size % 4 !== 0) return undefined;
  // Groups follow one another in a tile; so must their codes in the page, a row of padding would lie between.
  if (plane.rows === 'tokens' && packedRow !== plane.rowBytes) return undefined;
  if (tileTokens * headDim > KERNEL_ELEMENTS) return undefined;
  const kernel = asymmetricKernel();
  const groupBytes = plane.rows === 'channels' ? plane.rowBytes : (size * bits) / 8;
  let plain: TileEncoder | undefined;
  return (source, page, slot) => {
    const groups = (source.count * headDim) / size;
    kernel.load(source);
    if (!kernel.measure(groups, size, bits)) {
      plain ??= plainEncoder(plan, tileTokens, null);
      plain(source, page, slot);
      return;
    }
    kernel.pack(groups, size, bits, page, codesOffset(layout, source.head, slot), groupBytes);
    writeParameters(layout, source.head, slot, groups, kernel.scales, kernel.zeros, page);
  };
}

function isUniformF16({ quantizer, parameters, outliers }: QuantizedTensorScheme): boolean {
  if (outliers !== undefined) return false;
  const { scale, zero } = parameters;
  const uniform = quantizer.mode === 'asymmetric' && quantizer.codes === 'uniform';
  return uniform && scale === 'f16' && zero === 'f16';
}

function groupSize(layout: BlockLayout): number {
  return layout.codes.rows === 'channels' ? layout.tokensPerGroup : layout.channelsPerGroup;
}

/** Where the codes of a slot start; along tokens that is in the row of channel 0. */
function codesOffset(layout: BlockLayout, head: number, slot: number): number {
  const { codes, bits } = layout;
  const within = codes.rows === 'channels' ? (slot * bits) / 8 : slot * codes.rowBytes;
  return head * layout.headBytes + codes.offset + within;
}

function writeParameters(
  layout: BlockLayout,
  head: number,
  slot: number,
  groups: number,
  scales: ParameterBits,
  zeros: ParameterBits,
  page: Uint8Array,
): void {
  const firstGroup = (slot / layout.tokensPerGroup) * (layout.headDim / layout.channelsPerGroup);
  for (const { name, type, offset } of layout.parameters) {
    const source = name === 'zero' ? zeros : scales;
    const bytes = PARAMETER_BYTES[type];
    const at = head * layout.headBytes + offset + firstGroup * bytes;
    if (bytes === 2)
      for (let i = 0; i < groups; i++) writeU16(page, at + 2 * i, source[i] as number);
    else
      for (let i = 0; i < groups; i++)
        writeNumber(page, at + i * bytes, bytes, source[i] as number);
  }
}
