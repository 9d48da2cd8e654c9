/**
 * What a block of the general packing kernels takes at once: a run of tokens of one head, or of all heads where they share
 * parameters, as f32 rows. kernels/general-tile.cuh.
 */
import { type TensorPlan, transformsOf } from '@lowbit-kv/core';

/** Elements of a tile, unless a group of tokens is more. */
const TILE_ELEMENTS = 2048;

export interface GeneralTiles {
  /** Whole groups. */
  readonly runTokens: number;
  readonly tileHeads: number;
  readonly tileWords: number;
  /** Tiles of the heads of a pack. */
  readonly columns: number;
}

/** `statistics`: of the kernels that measure a sequence, else of the one that packs. */
export function generalTiles(plan: TensorPlan, use: 'pack' | 'statistics'): GeneralTiles {
  const { layout, heads, headDim } = plan;
  const packs = use === 'pack' && layout !== null;
  const tileHeads = packs && layout.parametersShared ? heads : 1;
  const unit = packs ? layout.tokensPerGroup : 1;
  const width = tileHeads * headDim;
  const runTokens = unit * Math.max(1, Math.floor(TILE_ELEMENTS / (unit * width)));
  const places = placesOf(runTokens * width);
  return {
    runTokens,
    tileHeads,
    tileWords: places + Math.max(...extraWords(plan, runTokens * tileHeads, places)),
    columns: heads / tileHeads,
  };
}

/** As `placesOf` of the kernels. */
function placesOf(elements: number): number {
  return elements + (elements >>> 5) + 1;
}

/** Of what rows are put in another order by, and of the bits of their outliers. */
function extraWords({ scheme, layout }: TensorPlan, rows: number, places: number): number[] {
  if (scheme.bits === 16 || layout === null) return [0];
  const orders = transformsOf({ scheme }).some(({ kind }) => kind === 'channelOrder');
  return [
    orders ? places : 0,
    layout.top === undefined ? 0 : rows * Math.ceil(layout.headDim / 32),
  ];
}
