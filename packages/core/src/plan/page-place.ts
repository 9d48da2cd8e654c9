/**
 * Places in a packed page, as the checks of pages from outside name them.
 */
import type { PackedTensorPlan } from '../law/encode.js';

export interface Place {
  readonly head?: number;
  readonly group?: number;
  readonly slot?: number;
  readonly channel?: number;
}

/** Throws BLOCK_INVALID. */
export type Refuse = (message: string, value: unknown, valid: string, place?: Place) => never;

/** Where entry `index` of a parameter plane is. */
export function placeOf({ layout }: PackedTensorPlan, head: number, index: number): Place {
  const perSlot = layout.headDim / layout.channelsPerGroup;
  const row = Math.floor(index / perSlot);
  const column = index % perSlot;
  const shared = layout.parametersShared ? {} : { head };
  if (layout.codes.rows === 'channels') return { ...shared, group: row, channel: column };
  return { ...shared, group: column, slot: row };
}

/** Calls back with the base of every block of parameters and the number of its entries in use. */
export function eachParameterBlock(
  { layout }: PackedTensorPlan,
  validTokens: number,
  act: (head: number, base: number, entries: number) => void,
): void {
  const entries =
    Math.ceil(validTokens / layout.tokensPerGroup) * (layout.headDim / layout.channelsPerGroup);
  if (layout.parametersShared) act(0, layout.heads * layout.headBytes, entries);
  else for (let head = 0; head < layout.heads; head++) act(head, head * layout.headBytes, entries);
}
