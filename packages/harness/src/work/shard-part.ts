/** Which part of a piece of work a process does: shard `index` of `of`. */
import { LowbitKvError } from '@lowbit-kv/core';

export interface ShardPart {
  /** From 1. */
  readonly index: number;
  readonly of: number;
}

/** More would be a typing error: no work has as many units. */
const MOST_SHARDS = 100_000;

/** Reads `i/n`, i from 1. Throws OPTION_INVALID with the valid range. */
export function parseShard(text: string): ShardPart {
  const [, index, of] = /^(\d{1,9})\/(\d{1,9})$/.exec(text.trim()) ?? [];
  return checkShard({ index: Number(index), of: Number(of) }, text);
}

/** Throws OPTION_INVALID unless 1 <= index <= of. */
export function checkShard(part: ShardPart, given: unknown = part): ShardPart {
  const { index, of } = part;
  const counts = Number.isSafeInteger(of) && of >= 1 && of <= MOST_SHARDS;
  if (counts && Number.isSafeInteger(index) && index >= 1 && index <= of) return part;
  throw new LowbitKvError('OPTION_INVALID', {
    message: 'there is no such shard',
    value: given,
    valid: counts
      ? `1/${of} to ${of}/${of}`
      : `i/n, n from 1 to ${MOST_SHARDS} and i from 1 to n, such as 1/8`,
    next: 'Shards count from 1: job arrays and indexed jobs that count from 0 need i + 1.',
    where: { field: 'shard' },
  });
}

/** As options and messages say it. */
export function shardText({ index, of }: ShardPart): string {
  return `${index}/${of}`;
}
