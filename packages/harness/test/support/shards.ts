/** Shards in a folder, as processes would leave them. */
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import {
  type MergedReport,
  mergeShards,
  readShardFile,
  type Shard,
  type ShardContext,
  type ShardFile,
  type ShardPart,
  shardFileName,
  writeShardFile,
} from '../../src/index.js';

export const CONTEXT: ShardContext = { version: 'lowbit-kv 0.0.0' };

/** All shards, written to files and read back. */
export async function shardFiles(
  folder: string,
  of: number,
  measure: (part: ShardPart) => Promise<Shard>,
): Promise<ShardFile[]> {
  await mkdir(folder, { recursive: true });
  const files: ShardFile[] = [];
  for (let index = 1; index <= of; index++) {
    const path = join(folder, shardFileName({ index, of }));
    await writeShardFile(path, await measure({ index, of }));
    files.push(await readShardFile(path));
  }
  return files;
}

/** The report in text. In another order than that of the shards: it must not matter. */
export function merged(files: readonly ShardFile[]): { json: string; result: MergedReport } {
  const result = mergeShards(files.toReversed());
  return { json: JSON.stringify(result.report), result };
}
