/**
 * lcg-grid: test tensors that lie on a uniform grid in every group, so that a min-max quantizer stores them without
 * loss and the codes, scales and offsets are known without a reference implementation.
 */
import { checkInteger, elementCount } from './check.js';
import {
  allocateDrawn,
  createDraws,
  DRAW_LEVELS,
  type DrawnArray,
  type DrawnDtype,
  roundingTo,
} from './draws.js';

export interface GridRecipe<Dtype extends DrawnDtype = DrawnDtype> {
  readonly seed: number;
  readonly shape: readonly number[];
  readonly dtype: Dtype;
  /** Number of grid values, 2..4096. */
  readonly levels: number;
  /** At least 2. The last group of the axis may be shorter. */
  readonly groupSize: number;
  /** Axis of `shape` along which groups run, counted from 0. */
  readonly groupAxis: number;
  /** Value of code 0. */
  readonly lo: number;
  /** Distance of neighbouring values; the grid must be exact in `dtype` for the tensor to be lossless. */
  readonly step: number;
}

/** A grid tensor and its codes, both row-major over the shape. */
export interface GridTensor<Dtype extends DrawnDtype> {
  readonly codes: Uint16Array;
  readonly values: DrawnArray<Dtype>;
}

/**
 * Code = draw mod `levels`, row-major; then in each group of `groupSize` along `groupAxis` the first code becomes 0 and
 * the second `levels - 1`; value = `lo + step * code`, rounded once to `dtype`.
 */
export function lcgGrid<Dtype extends DrawnDtype>(recipe: GridRecipe<Dtype>): GridTensor<Dtype> {
  const { shape, lo, step } = recipe;
  const count = elementCount(shape);
  const levels = checkInteger('levels', recipe.levels, 2, DRAW_LEVELS);
  const groupSize = checkInteger('groupSize', recipe.groupSize, 2);
  const groupAxis = checkInteger('groupAxis', recipe.groupAxis, 0, shape.length - 1);
  const extent = shape[groupAxis] ?? 1;
  const innerCount = elementCount(shape.slice(groupAxis + 1));
  const draw = createDraws(recipe.seed);
  const round = roundingTo(recipe.dtype);
  const codes = new Uint16Array(count);
  const values = allocateDrawn(recipe.dtype, count);

  for (let i = 0; i < count; i++) {
    // Every element consumes its draw, also where the code is then replaced.
    const drawn = draw() % levels;
    const positionInGroup = (Math.floor(i / innerCount) % extent) % groupSize;
    const code = positionInGroup === 0 ? 0 : positionInGroup === 1 ? levels - 1 : drawn;
    codes[i] = code;
    values[i] = round(lo + step * code);
  }
  return { codes, values };
}
