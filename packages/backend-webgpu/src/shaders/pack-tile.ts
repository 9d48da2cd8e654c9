/**
 * Tiles of the kernel that packs in one pass (pack-tile.wgsl): which plans it is for, and how a workgroup shares a tile out.
 */
import type { BlockLayout, QuantizedTensorScheme, TensorPlan } from '@lowbit-kv/core';
import { type CodeOrder, wordsHoldSlots } from './code-order.js';
import type { Constants, Piece } from './compose.js';
import { transformsOf } from './tensor-numbers.js';

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
/** Quads that a lane keeps in registers. */
const PATCH = 16;

/** Null for plans that are packed through rows of f32. */
export function tileShape(plan: TensorPlan, order: CodeOrder, lanes = LANES): TileShape | null {
  const { scheme, layout } = plan;
  if (layout === null || scheme.bits === 16 || !isPlain(plan, scheme)) return null;
  const downwards = wordsHoldSlots(plan, order);
  const { patchSlots, patchQuads } = patchOf(scheme.bits, downwards);
  const columns = plan.headDim / (4 * patchQuads);
  if (!Number.isInteger(columns) || patchSlots * patchQuads > 2 * PATCH) return null;
  if (layout.tokensPerGroup === 1) {
    if (columns > lanes || layout.channelsPerGroup % (4 * patchQuads) !== 0) return null;
    return { patchSlots, patchQuads, columns, rows: Math.floor(lanes / columns) };
  }
  const groupRows = layout.tokensPerGroup / patchSlots;
  if (!Number.isInteger(groupRows) || groupRows > lanes) return null;
  const narrowed = largestDivisor(columns, lanes / groupRows);
  const groups = Math.min(
    Math.floor(lanes / (groupRows * narrowed)),
    layout.blockTokens / layout.tokensPerGroup,
  );
  return { patchSlots, patchQuads, columns: narrowed, rows: groupRows * groups };
}

/** Words of codes are whole in a patch. */
function patchOf(
  bits: number,
  downwards: boolean,
): { readonly patchSlots: number; readonly patchQuads: number } {
  const codes = bits === 3 ? 32 : 32 / bits;
  if (downwards) return { patchSlots: Math.max(8, codes), patchQuads: 1 };
  const patchQuads = Math.max(2, codes / 4);
  return { patchSlots: Math.max(2, PATCH / patchQuads), patchQuads };
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
    typeof codes === 'string' &&
    (mode === 'asymmetric' || mode === 'symmetric') &&
    transformsOf(plan).length === 0
  );
}

export function tileConstants(
  { patchSlots, patchQuads, rows, columns }: TileShape,
  { quantizer }: QuantizedTensorScheme,
): Constants {
  return {
    PATCH_SLOTS: patchSlots,
    PATCH_QUADS: patchQuads,
    PATCH_ROWS: rows,
    PATCH_COLUMNS: columns,
    // Other codes reach both ends of their groups.
    LIMITED: quantizer.codes === 'full' || quantizer.codes === 'fullSigned',
  };
}

export function tilePieces(
  plan: TensorPlan,
  scheme: QuantizedTensorScheme,
  order: CodeOrder,
): Piece[] {
  const alongTokens = (plan.layout as BlockLayout).tokensPerGroup > 1;
  return [
    'pack-tile',
    'tile-halves',
    'tile-nearest',
    scheme.quantizer.mode === 'asymmetric' ? 'tile-range' : 'tile-extreme',
    alongTokens ? 'tile-tokens' : 'tile-channels',
    order === 'reduction' ? 'code-places-reduction' : 'code-places-canonical',
    wordsHoldSlots(plan, order) ? 'words-down' : 'words-across',
  ];
}
