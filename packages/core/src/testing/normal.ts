/**
 * lcg-ih12: approximately normal test tensors with optional channel and token outliers.
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

const DRAWS_PER_ELEMENT = 12;

/** `x -> x * mul + add` on one index of the last axis. */
export interface ChannelOperation {
  readonly channel: number;
  readonly mul: number;
  readonly add: number;
}

/** `x -> x * mul + add` on one index of the second last axis. */
export interface TokenOperation {
  readonly token: number;
  readonly mul: number;
  readonly add: number;
}

/** The recipe of an lcg-ih12 tensor, spelled as in the case files. */
export interface NormalRecipe<Dtype extends DrawnDtype = DrawnDtype> {
  readonly seed: number;
  readonly shape: readonly number[];
  readonly dtype: Dtype;
  /** Default 1. */
  readonly std?: number;
  /** Default 0. */
  readonly mean?: number;
  readonly channelOps?: readonly ChannelOperation[];
  readonly tokenOps?: readonly TokenOperation[];
}

/**
 * Irwin-Hall data, row-major over `shape`: `(sum of 12 draws / 4096 - 6) * std + mean`, then the channel operations,
 * then the token operations, then one rounding to `dtype`. Variance about 1 before `std`.
 */
export function lcgNormal<Dtype extends DrawnDtype>(
  recipe: NormalRecipe<Dtype>,
): DrawnArray<Dtype> {
  const { shape, std = 1, mean = 0 } = recipe;
  const count = elementCount(shape);
  const channels = shape.at(-1) ?? 1;
  const tokens = shape.at(-2) ?? 1;
  const byChannel = operationsByIndex(
    'channelOps channel',
    channels,
    recipe.channelOps,
    ({ channel }) => channel,
  );
  const byToken = operationsByIndex(
    'tokenOps token',
    tokens,
    recipe.tokenOps,
    ({ token }) => token,
  );
  const draw = createDraws(recipe.seed);
  const round = roundingTo(recipe.dtype);
  const result = allocateDrawn(recipe.dtype, count);

  let channel = 0;
  let token = 0;
  for (let i = 0; i < count; i++) {
    let sum = 0;
    for (let n = 0; n < DRAWS_PER_ELEMENT; n++) sum += draw();
    let value = (sum / DRAW_LEVELS - DRAWS_PER_ELEMENT / 2) * std + mean;
    for (const { mul, add } of byChannel[channel] ?? []) value = value * mul + add;
    for (const { mul, add } of byToken[token] ?? []) value = value * mul + add;
    result[i] = round(value);
    if (++channel === channels) {
      channel = 0;
      if (++token === tokens) token = 0;
    }
  }
  return result;
}

function operationsByIndex<Operation>(
  name: string,
  extent: number,
  operations: readonly Operation[] = [],
  indexOf: (operation: Operation) => number,
): Operation[][] {
  const lists: Operation[][] = Array.from({ length: extent }, () => []);
  for (const operation of operations)
    lists[checkInteger(name, indexOf(operation), 0, extent - 1)]?.push(operation);
  return lists;
}
