/** A shard of a comparison: some of its rows, measured. */
import { checkIds } from './compare.js';
import type { CompareOptions } from './compare-options.js';
import { compareGroups } from './compare-work.js';
import { Comparison } from './comparison.js';
import { partition } from './work/partition.js';
import { isSameShard } from './work/same-work.js';
import { type CompareShard, headerOf, type Shard, type ShardContext } from './work/shard.js';
import { checkShard, type ShardPart } from './work/shard-part.js';

/**
 * Measures a shard, or gives `previous` back when it is this very shard. Throws what `compareSchemes` throws, and
 * OPTION_INVALID for a shard that there is not.
 */
export async function compareShard(
  options: CompareOptions,
  part: ShardPart,
  context: ShardContext,
  previous?: Shard,
): Promise<CompareShard> {
  const { index, of } = checkShard(part);
  checkIds(options);
  const comparison = await Comparison.open(options);
  const { work } = comparison;
  const header = { kind: 'compare', ...headerOf(context), shard: { index, of }, work } as const;
  if (previous?.header.kind === 'compare' && isSameShard(previous.header, header))
    return previous as CompareShard;
  const shards = partition(compareGroups(work), of);
  const own = [...shards].filter(([, shard]) => shard === index).map(([unit]) => unit);
  return { header, units: await comparison.measure(new Set(own)) };
}
