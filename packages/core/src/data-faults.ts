/**
 * Errors of data that cannot be stored, for core and for backends that find them on a device.
 */
import type { AppendJob } from './backend.js';
import { LowbitKvError } from './errors.js';
import { OUTLIER_CHUNK } from './plan/layout.js';
import type { TensorPlan } from './plan/plan.js';

/** A tensor of an append, and the first of its elements that f16 cannot hold. */
export interface NonFiniteElement {
  readonly tensor: 'key' | 'value';
  /** Of the model. */
  readonly layer: number;
  readonly rows: AppendJob['rows'];
  /** As the caller gave it: `[rows, heads, headDim]`. */
  readonly shape: readonly number[];
  /** In the order of the shape. */
  readonly element: number;
  /** What it holds, where that is known. */
  readonly value?: unknown;
}

export function nonFiniteError({
  tensor,
  layer,
  rows,
  shape,
  element,
  value = `element ${element}`,
}: NonFiniteElement): LowbitKvError {
  const [, heads = 1, dim = 1] = shape;
  let row = Math.floor(element / (heads * dim));
  const run = rows.find(({ count }) => {
    if (row < count) return true;
    row -= count;
    return false;
  });
  return new LowbitKvError('NON_FINITE', {
    message: 'a value is not finite in f16',
    value,
    valid: 'finite numbers up to 65504 in magnitude',
    next: "Look for an overflow upstream; nonFinite: 'mask' stores the rest and leaves this value undefined.",
    where: {
      tensor,
      layer,
      sequence: run?.sequence ?? 0,
      head: Math.floor(element / dim) % heads,
      token: (run?.position ?? 0) + row,
      channel: element % dim,
    },
  });
}

/** `head`: of the plan. `layer`: of the model, where it is known. */
export function outlierCapacityError(
  { tensor, scheme, layout, headNumbers }: TensorPlan,
  head: number,
  layer?: number,
): LowbitKvError {
  const outliers = scheme.bits === 16 ? undefined : scheme.outliers;
  const reserve = outliers?.kind === 'bands' ? outliers.storage.reserve : 0;
  const capacity = layout?.sparse?.entries.capacity ?? 0;
  return new LowbitKvError('OUTLIER_CAPACITY', {
    message: 'a block has more outliers than there is room for',
    value: `more than ${capacity}`,
    valid: `at most ${capacity} in ${layout?.blockTokens ?? 0} tokens of a head (reserve ${reserve} per ${OUTLIER_CHUNK} channels)`,
    next: `Raise outliers.storage.reserve (${OUTLIER_CHUNK} holds everything), or calibrate the thresholds on data like this.`,
    where: {
      tensor,
      ...(layer === undefined ? {} : { layer }),
      head: headNumbers?.[head] ?? head,
    },
  });
}
