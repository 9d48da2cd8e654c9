/**
 * Splits work over shards: units stay in their order, each shard takes some that follow one another, and the shard with the
 * most has as little as can be. Depends on names and costs only, so every process finds the same parts.
 */

export interface WorkUnit {
  /** Unique in the work. */
  readonly name: string;
  /** In proportion to the time it takes; whole numbers. */
  readonly cost: number;
}

/** Units that share something which every shard with one of them has to do: a window and its f16 logits. */
export interface WorkGroup {
  readonly setup: number;
  /** The unit that the setup gives; it belongs to the shard with the first of the others. Null: it gives none. */
  readonly baseline: string | null;
  readonly units: readonly WorkUnit[];
}

/** What a shard takes whole. */
interface Item {
  readonly names: readonly string[];
  readonly cost: number;
  readonly setup: number;
  /** Of its group: a shard that begins with another one does the setup again. */
  readonly first: boolean;
}

/** The shard, from 1, of each unit. Shards beyond what there is to do have none. */
export function partition(groups: readonly WorkGroup[], shards: number): Map<string, number> {
  const items = groups.flatMap(itemsOf);
  const limit = leastLimit(items, shards);
  const needed = shardsFrom(items, limit);
  const shardOf = new Map<string, number>();
  let at = 0;
  for (let shard = 1; at < items.length; shard++) {
    const left = shards - shard;
    const target = costFrom(items, at) / (left + 1);
    let end = at;
    for (let load = 0; end < items.length; end++) {
      const added = addedCost(items[end] as Item, end === at);
      const mayStop = end > at && (needed[end] as number) <= left;
      if (mayStop && (load + added > limit || load + added / 2 > target)) break;
      load += added;
    }
    for (const { names } of items.slice(at, end))
      for (const name of names) shardOf.set(name, shard);
    at = end;
  }
  return shardOf;
}

/** All units, in order. */
export function unitNames(groups: readonly WorkGroup[]): string[] {
  return groups.flatMap(itemsOf).flatMap(({ names }) => names);
}

function itemsOf({ setup, baseline, units }: WorkGroup): Item[] {
  const own = baseline === null ? [] : [baseline];
  if (units.length === 0)
    return own.map((name) => ({ names: [name], cost: 0, setup, first: true }));
  return units.map(({ name, cost }, i) => ({
    names: i === 0 ? [...own, name] : [name],
    cost,
    setup,
    first: i === 0,
  }));
}

function addedCost({ cost, setup, first }: Item, opens: boolean): number {
  return cost + (first || opens ? setup : 0);
}

/** Of one shard that does all from an item on. */
function costFrom(items: readonly Item[], at: number): number {
  return items.slice(at).reduce((sum, item, i) => sum + addedCost(item, i === 0), 0);
}

/** The least load of the fullest shard that so many shards can do it with. */
function leastLimit(items: readonly Item[], shards: number): number {
  let least = items.reduce((most, item) => Math.max(most, addedCost(item, true)), 0);
  let most = Math.max(least, costFrom(items, 0));
  while (least < most) {
    const middle = Math.floor((least + most) / 2);
    if ((shardsFrom(items, middle)[0] ?? 0) <= shards) most = middle;
    else least = middle + 1;
  }
  return least;
}

/** How many shards of at most `limit` the items from each one on need. */
function shardsFrom(items: readonly Item[], limit: number): number[] {
  const needed = new Array<number>(items.length + 1).fill(0);
  for (let at = items.length - 1; at >= 0; at--) {
    let end = at;
    for (let load = 0; end < items.length; end++) {
      load += addedCost(items[end] as Item, end === at);
      if (load > limit && end > at) break;
    }
    needed[at] = 1 + (needed[end] as number);
  }
  return needed;
}
