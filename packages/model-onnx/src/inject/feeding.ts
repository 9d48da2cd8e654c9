/**
 * How a decoder wants its past: as many slots as there are tokens, or a fixed number of them.
 */
import type { InputStep } from '../model/input-contract.js';

export type Slots =
  /** A slot per token, and at least so many: a decoder that refuses an empty past gets a masked slot. */
  | { readonly kind: 'growing'; readonly least: 0 | 1 }
  /** `capacity` slots, the past at their end, what is before it masked; new tokens come after them. */
  | { readonly kind: 'end'; readonly capacity: number }
  /** `capacity` slots, the past at their start; the decoder writes new tokens into the slots that follow. */
  | { readonly kind: 'start'; readonly capacity: number };

export interface Feeding {
  readonly slots: Slots;
  /** What `attention_mask` is about. */
  readonly masked: 'all' | 'new';
}

export interface SlotPlan {
  readonly slots: number;
  /** Slot of the first token of the past. */
  readonly first: number;
}

export function slotPlan(slots: Slots, past: number): SlotPlan {
  switch (slots.kind) {
    case 'growing': {
      const count = Math.max(past, slots.least);
      return { slots: count, first: count - past };
    }
    case 'end':
      return { slots: slots.capacity, first: slots.capacity - past };
    case 'start':
      return { slots: slots.capacity, first: 0 };
  }
}

/** What the inputs beside the past are made from. */
export function inputStep(tokens: readonly number[], past: number, feeding: Feeding): InputStep {
  const { slots, first } = slotPlan(feeding.slots, past);
  const seen = Array<number>(past + tokens.length).fill(1);
  const { masked } = feeding;
  if (feeding.slots.kind === 'start') {
    const free = Array<number>(slots - seen.length).fill(0);
    return { tokens, position: past, mask: [...seen, ...free], masked };
  }
  return { tokens, position: slots, mask: [...Array<number>(first).fill(0), ...seen], masked };
}

/** Slot of the first new token among the `total` slots given back; null for a number that fits no known form. */
export function firstNew(slots: Slots, past: number, tokens: number, total: number): number | null {
  if (slots.kind === 'start') return total === slots.capacity ? past : null;
  const known = [slotPlan(slots, past).slots + tokens, tokens];
  return known.includes(total) ? total - tokens : null;
}

/** Most tokens that a feeding can hold; null: any number. */
export function capacityOf({ slots }: Feeding): number | null {
  return slots.kind === 'growing' ? null : slots.capacity;
}
