/**
 * Tiles of the kernel that packs in one pass (pack-tile.wgsl): which plans it is for, and how a workgroup shares a tile out.
 */
import {
  type BlockLayout,
  type QuantizedTensorScheme,
  type TensorPlan,
  transformsOf,
} from '@lowbit-kv/core';
import {
  type CodeOrder,
  elementsOfRuns,
  elementsOfWords,
  fieldsOfByte,
  wordsHoldSlots,
} from './code-order.js';
import type { Constants, Piece } from './compose.js';
import type { TensorNumbers } from './tensor-numbers.js';
import { tilePackingPieces, transformsChannels } from './transform-steps.js';

export interface TileShape {
  /** Of a lane. */
  readonly patchSlots: number;
  /** Four neighbour channels each. */
  readonly patchQuads: number;
  /** Lanes along slots and along channels. */
  readonly rows: number;
  readonly columns: number;
}

/** Lanes of a workgroup, where tiles are not bound to be larger or smaller. */
const LANES = 128;
const LEAST_LANES = 32;
/** Lanes along channels where groups are along tokens: wider tiles were slower. */
const MOST_COLUMNS = 8;
/** Of workgroup memory. */
const WORKGROUP_BYTES = 12288;
/** Quads that a lane keeps in registers, in the canonical order; fewer where that is faster. */
const PATCH = 16;
const SMALL_PATCH = 8;

/** Null for plans that are packed through rows of f32. */
export function tileShape(plan: TensorPlan, order: CodeOrder): TileShape | null {
  for (let lanes = LANES; lanes >= LEAST_LANES; lanes /= 2) {
    const shape = shapeOf(plan, order, lanes);
    if (shape === null || workgroupBytes(plan, shape) <= WORKGROUP_BYTES) return shape;
  }
  return null;
}

/** With so many lanes at most. */
export function shapeOf(plan: TensorPlan, order: CodeOrder, lanes: number): TileShape | null {
  const shape = sharedOut(plan, order, lanes);
  if (shape === null || order === 'canonical') return shape;
  const reduced = wordsHoldSlots(plan, order)
    ? shape.rows * shape.patchSlots
    : shape.columns * shape.patchQuads * 4;
  return reduced % elementsOfRuns(plan.layout?.bits ?? 0) === 0 ? shape : null;
}

function sharedOut(plan: TensorPlan, order: CodeOrder, lanes: number): TileShape | null {
  const { scheme, layout } = plan;
  if (layout === null || scheme.bits === 16 || !isPlain(plan, scheme)) return null;
  const downwards = wordsHoldSlots(plan, order);
  const { patchSlots, patchQuads } =
    order === 'canonical'
      ? canonicalPatch(scheme.bits, downwards, layout.tokensPerGroup > 1)
      : reducedPatch(scheme.bits, downwards, layout.tokensPerGroup > 1);
  const columns = plan.headDim / (4 * patchQuads);
  if (!Number.isInteger(columns) || patchSlots * patchQuads > 2 * PATCH) return null;
  if (layout.tokensPerGroup === 1) {
    if (columns > lanes || layout.channelsPerGroup % (4 * patchQuads) !== 0) return null;
    return { patchSlots, patchQuads, columns, rows: Math.floor(lanes / columns) };
  }
  const groupRows = layout.tokensPerGroup / patchSlots;
  if (!Number.isInteger(groupRows) || groupRows > lanes) return null;
  const narrowed = largestDivisor(columns, Math.min(MOST_COLUMNS, lanes / groupRows));
  const groups = Math.min(
    Math.max(1, Math.floor(LEAST_LANES / (groupRows * narrowed))),
    layout.blockTokens / layout.tokensPerGroup,
  );
  return { patchSlots, patchQuads, columns: narrowed, rows: groupRows * groups };
}

/** Workgroup memory of pack-tile.wgsl. */
function workgroupBytes(
  plan: TensorPlan,
  { patchSlots, patchQuads, rows, columns }: TileShape,
): number {
  const { tokensPerGroup, channelsPerGroup } = plan.layout as BlockLayout;
  const slots = rows * patchSlots;
  const channels = columns * patchQuads * 4;
  const { bits, quantizer } = plan.scheme as QuantizedTensorScheme;
  const measured = tokensPerGroup > 1 ? rows * channels : slots * (columns + 1);
  const parts = quantizer.mode === 'symmetric' ? measured : 2 * measured;
  const words = (slots * channels * bits) / 32 + Math.max(slots, channels);
  const entries = (slots * channels) / (tokensPerGroup * channelsPerGroup);
  return 4 * (Math.max(parts, words) + slots) + (quantizer.mode === 'hybrid' ? 48 : 24) * entries;
}

type Patch = Pick<TileShape, 'patchSlots' | 'patchQuads'>;

/** Words of codes, which lie along slots or along channels, are whole in a patch. */
function canonicalPatch(bits: number, downwards: boolean, alongTokens: boolean): Patch {
  const codes = bits === 3 ? 32 : 32 / bits;
  if (downwards) return { patchSlots: Math.max(8, codes), patchQuads: 1 };
  const patchQuads = Math.max(2, codes / 4);
  const quads = alongTokens || codes > 8 ? PATCH : SMALL_PATCH;
  return { patchSlots: Math.max(2, quads / patchQuads), patchQuads };
}

/** Words hold codes of at most four slots and four channels; with 3 bits words of sixteen of the reduction are spread. */
function reducedPatch(bits: number, reducesTokens: boolean, alongTokens: boolean): Patch {
  if (bits === 3)
    return reducesTokens
      ? { patchSlots: elementsOfWords(bits), patchQuads: 1 }
      : { patchSlots: 4, patchQuads: elementsOfWords(bits) / 4 };
  return alongTokens ? { patchSlots: 8, patchQuads: 1 } : { patchSlots: 4, patchQuads: 2 };
}

function largestDivisor(value: number, most: number): number {
  let divisor = Math.min(value, Math.floor(most));
  while (value % divisor !== 0) divisor--;
  return divisor;
}

function isPlain(plan: TensorPlan, { quantizer, parameters, ...scheme }: QuantizedTensorScheme) {
  const { mode, codes } = quantizer;
  return (
    [2, 3, 4, 8].includes(scheme.bits) &&
    plan.codec === undefined &&
    scheme.outliers === undefined &&
    (plan.layout as BlockLayout).parametersShared === false &&
    plan.headDim % 8 === 0 &&
    Object.values(parameters).every((type) => type === 'f16') &&
    mode !== 'codec' &&
    (typeof codes === 'string' || mode === 'asymmetric' || codes.scaledBy === 'absoluteMaximum') &&
    transformsChannels(plan)
  );
}

export function tileConstants(
  plan: TensorPlan,
  { patchSlots, patchQuads, rows, columns }: TileShape,
  { quantizer, bits }: QuantizedTensorScheme,
  order: CodeOrder,
): Constants {
  return {
    PATCH_SLOTS: patchSlots,
    PATCH_QUADS: patchQuads,
    PATCH_ROWS: rows,
    PATCH_COLUMNS: columns,
    // Words of the codes of a channel, or of a slot, in a patch.
    RUN_WORDS: ((wordsHoldSlots(plan, order) ? patchSlots : 4 * patchQuads) * bits) / 32,
    // Of a byte in the order of the reduction, and words of four elements of the other axis.
    BYTE_FIELDS: fieldsOfByte(bits),
    QUAD_WORDS: 4 / fieldsOfByte(bits),
    // Other codes reach both ends of groups of f16 numbers.
    LIMITED:
      quantizer.mode === 'hybrid' ||
      quantizer.codes === 'full' ||
      quantizer.codes === 'fullSigned' ||
      transformsOf(plan).length > 0,
    // Both a minimum and a maximum are measured.
    PAIRED: quantizer.mode !== 'symmetric',
    STEP_SETS: quantizer.mode === 'hybrid' ? 2 : 1,
  };
}

export function tilePieces(
  plan: TensorPlan,
  scheme: QuantizedTensorScheme,
  numbers: TensorNumbers,
  order: CodeOrder,
): Piece[] {
  const along = (plan.layout as BlockLayout).tokensPerGroup > 1 ? 'tokens' : 'channels';
  return [
    'pack-tile',
    'tile-halves',
    'tile-steps',
    ...tilePackingPieces(plan, numbers),
    ...groupPieces(scheme, along),
    `tile-${along}`,
    `code-places-${order}`,
    ...wordPieces(order, wordsHoldSlots(plan, order)),
  ];
}

function wordPieces(order: CodeOrder, holdSlots: boolean): Piece[] {
  // Not written out: faster at 2 bits only, and software drivers take a third longer to compile it.
  if (order === 'canonical') return [holdSlots ? 'words-down' : 'words-across'];
  const words = holdSlots ? 'words-reduced-tokens' : 'words-reduced-channels';
  return ['words-reduction', { unrolled: words }];
}

/** Parameters of groups, and codes from them. */
function groupPieces({ quantizer }: QuantizedTensorScheme, along: 'tokens' | 'channels'): Piece[] {
  const { mode, codes } = quantizer;
  if (mode === 'hybrid')
    return ['tree', 'tile-range', 'tile-nearest', 'tile-hybrid', `tile-errors-${along}`];
  return [
    ...(mode === 'asymmetric'
      ? (['tile-range', 'tile-asymmetric'] as const)
      : (['tile-extreme', 'tile-symmetric'] as const)),
    'tile-settled',
    ...(typeof codes === 'string'
      ? (['tile-nearest', 'tile-uniform'] as const)
      : (['tile-levels'] as const)),
  ];
}
