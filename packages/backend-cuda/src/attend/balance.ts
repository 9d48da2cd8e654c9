/**
 * Into how many items each row of a batch is split, so that CTAs end together.
 *
 * An item is never shared by rows, so rows that do not divide the device leave some of it idle: splitting them further lets
 * the rest fill it, and costs more starts and merges. A few sizes of items are tried on a model of the device, which starts
 * items in the order of the table, each where there is room first.
 */

/** Costs are in 1/8 of a packed page. */
export const PAGE_COST = 8;
/** Tokens outside of pages that cost 1. */
export const REST_COST_TOKENS = 16;
/** Of starting an item and merging it, as an estimate: what four pages take. */
const ITEM_COST = 4 * PAGE_COST;
/** Where capacity allows no item costs more than so many even shares of a slot, but for the rounding to whole pages. */
const LARGEST_SHARE = 1.15;
/** Smaller items than this are not tried; each size is so many times the one before. */
const SMALLEST_SHARE = 0.12;
const SHARE_STEP = 0.93;
/** Shares of the even one that items are tried at. Sequences that divide the device are even at once. */
const SHARES = [1, ...geometric(LARGEST_SHARE, SMALLEST_SHARE, SHARE_STEP)];
/** Of the even share of what is left after full waves: 0 where that is not split again. */
const TAIL_SHARES = [0, 1, 0.5, 0.25];
/** Of shares that divide evenly but for the last bit. */
const ROUNDING = 1e-6;
/** So near to even nothing else is tried. */
const EVEN_ENOUGH = 1.02;

export interface Split {
  /** Items of each row, at least 1. */
  readonly counts: Int32Array;
  /** Rows, the ones with the costliest items first: so that short ones fill what is left in the end. */
  readonly order: Int32Array;
}

/** `slots`: items that run at once. `capacity`: at least as many as rows, and never exceeded. */
export function balance(costs: ArrayLike<number>, slots: number, capacity: number): Split {
  const rows = costs.length;
  const even = sum(costs) / slots;
  const counts = new Int32Array(rows);
  const order = new Int32Array(rows);
  const all = Int32Array.from({ length: rows }, (_, row) => row);
  const best = { counts: new Int32Array(rows).fill(1), order: all.slice() };
  if (even === 0) return best;
  let shortest = Number.POSITIVE_INFINITY;
  const attempt = (share: number, tailShare: number) => {
    splitRows(costs, all, even * share, counts);
    sortByItemCost(costs, counts, order);
    if (tailShare > 0) splitTail(costs, counts, order, { slots, share: tailShare });
    if (sum(counts) > capacity) return;
    const time = makespan(costs, counts, order, slots);
    if (time >= shortest) return;
    shortest = time;
    best.counts.set(counts);
    best.order.set(order);
  };
  for (const share of SHARES) {
    for (const tailShare of TAIL_SHARES) {
      attempt(share, tailShare);
      if (shortest <= even * EVEN_ENOUGH + ITEM_COST) return best;
    }
  }
  // With little room items are larger than they should be.
  for (let share = LARGEST_SHARE; shortest === Number.POSITIVE_INFINITY; share /= SHARE_STEP)
    attempt(share, 0);
  return best;
}

function geometric(first: number, last: number, ratio: number): number[] {
  const values: number[] = [];
  for (let value = first; value > last; value *= ratio) values.push(value);
  return values;
}

/** Splits these rows so that no item costs more than `largest`, none less than a page. */
function splitRows(
  costs: ArrayLike<number>,
  rows: Int32Array,
  largest: number,
  counts: Int32Array,
): void {
  for (const row of rows) {
    const cost = costs[row] as number;
    const most = Math.floor(cost / PAGE_COST);
    counts[row] = Math.max(1, Math.min(most, Math.ceil(cost / largest - ROUNDING)));
  }
}

/** Splits the rows after the last full wave again, so that they fill one. */
function splitTail(
  costs: ArrayLike<number>,
  counts: Int32Array,
  order: Int32Array,
  { slots, share }: { readonly slots: number; readonly share: number },
): void {
  let left = sum(counts);
  left -= left % slots;
  let first = 0;
  while (first < order.length && (counts[order[first] as number] as number) <= left)
    left -= counts[order[first++] as number] as number;
  const tail = order.subarray(first);
  let cost = 0;
  for (const row of tail) cost += costs[row] as number;
  splitRows(costs, tail, Math.max(PAGE_COST, (cost / slots) * share), counts);
}

function sum(values: ArrayLike<number>): number {
  let total = 0;
  for (let i = 0; i < values.length; i++) total += values[i] as number;
  return total;
}

function sortByItemCost(costs: ArrayLike<number>, counts: Int32Array, order: Int32Array): void {
  for (let row = 0; row < order.length; row++) order[row] = row;
  const itemCost = (row: number) => (costs[row] as number) / (counts[row] as number);
  order.sort((a, b) => itemCost(b) - itemCost(a) || a - b);
}

/** When the last item ends. Exported for tests. */
export function makespan(
  costs: ArrayLike<number>,
  counts: ArrayLike<number>,
  order: ArrayLike<number>,
  slots: number,
  itemCost = ITEM_COST,
): number {
  // A heap: the slot that is free first at its top.
  const free = new Float64Array(slots);
  let last = 0;
  for (let i = 0; i < order.length; i++) {
    const row = order[i] as number;
    const count = counts[row] as number;
    const cost = (costs[row] as number) / count + itemCost;
    for (let item = 0; item < count; item++) {
      const end = (free[0] as number) + cost;
      last = Math.max(last, end);
      replaceTop(free, end);
    }
  }
  return last;
}

function replaceTop(heap: Float64Array, value: number): void {
  let at = 0;
  for (;;) {
    let child = 2 * at + 1;
    if (child >= heap.length) break;
    const right = child + 1;
    if (right < heap.length && (heap[right] as number) < (heap[child] as number)) child = right;
    if ((heap[child] as number) >= value) break;
    heap[at] = heap[child] as number;
    at = child;
  }
  heap[at] = value;
}
