/**
 * Encodes tokens whose groups run along tokens or channels into a packed page.
 */
import type { BlockLayout } from '../plan/layout.js';
import type { QuantizedTensorScheme } from '../scheme.js';
import { quantizeAsymmetric } from './asymmetric.js';
import { asymmetricKernel, KERNEL_ELEMENTS } from './asymmetric-f16.js';
import { packCodes } from './bits.js';
import type { PackedTensorPlan } from './encode.js';
import { quantizeHybrid } from './hybrid.js';
import { quantizeLevels } from './levels.js';
import { writeU16 } from './page-bytes.js';
import { quantizeSymmetric, type SymmetricCodes } from './symmetric.js';
import { loadValues, type TileSource } from './tile.js';
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
  const codes = new Uint8Array(tile.length);
  const scales = new Uint16Array(tile.length / size);
  const zeros = new Uint16Array(tile.length / size);
  return (source, page, slot) => {
    const groups = (source.count * headDim) / size;
    loadValues(source, transforms, tile);
    quantize(scheme, tile, groups, size, codes, scales, zeros);
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
  if (scheme.quantizer.mode !== 'asymmetric' || (bits !== 2 && bits !== 4)) return undefined;
  if (size % 4 !== 0) return undefined;
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
  scales: Uint16Array,
  zeros: Uint16Array,
  page: Uint8Array,
): void {
  const firstGroup = (slot / layout.tokensPerGroup) * (layout.headDim / layout.channelsPerGroup);
  for (const parameter of layout.parameters) {
    const source = parameter.name === 'zero' ? zeros : scales;
    const offset = head * layout.headBytes + parameter.offset + firstGroup * 2;
    for (let i = 0; i < groups; i++) writeU16(page, offset + 2 * i, source[i] as number);
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
  else if (typeof quantizer.codes === 'object')
    quantizeLevels(tile, groups, size, quantizer.codes, codes, scales);
  else
    quantizeSymmetric(tile, groups, size, bits, quantizer.codes as SymmetricCodes, codes, scales);
}
