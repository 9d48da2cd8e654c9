/**
 * `--shard i/n` of commands that measure: a part of the work, whose results go to a file for `merge`.
 */
import { existsSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { LowbitKvError } from '@lowbit-kv/core';
import {
  parseShard,
  readShardFile,
  type Shard,
  type ShardContext,
  type ShardPart,
  shardFileName,
  shardText,
  writeShardFile,
} from '@lowbit-kv/harness';
import { checkReportFolder } from '@lowbit-kv/report';
import { provenanceOf } from './provenance.js';
import { type Measured, shownOf } from './report-out.js';
import type { Terminal } from './terminal.js';

export interface ShardOut {
  readonly part: ShardPart;
  readonly path: string;
  /** What the file holds already, where it is whole. */
  readonly previous: Shard | undefined;
}

export interface ShardCommandOptions {
  /** Text of `i/n`. */
  readonly shard?: string;
  /** Folder for the file of the shard. */
  readonly out?: string;
  readonly fresh?: boolean;
}

/** Undefined when no shard is asked for. Throws OPTION_INVALID before anything is measured. */
export async function openShardOut(
  terminal: Terminal,
  { shard, out, fresh = false }: ShardCommandOptions,
): Promise<ShardOut | undefined> {
  if (shard === undefined) return undefined;
  const part = parseShard(shard);
  if (out === undefined) {
    throw new LowbitKvError('OPTION_INVALID', {
      message: 'a shard is written to a folder, and none is named',
      value: out,
      valid: 'a folder that may be written to; all shards may share it',
      next: 'Add --out FOLDER.',
      where: { field: 'out' },
    });
  }
  const folder = resolve(terminal.directory, out);
  await checkReportFolder(folder);
  const path = join(folder, shardFileName(part));
  const previous = fresh || !existsSync(path) ? undefined : await wholeShard(terminal, path);
  return { part, path, previous };
}

/** What a shard file says beside its results. */
export function shardContext(terminal: Terminal, measured: Measured): ShardContext {
  return { ...provenanceOf(terminal), shown: shownOf(measured) };
}

/** Says on stderr what it wrote. Throws FILE_NOT_WRITTEN. */
export async function writeShardOut(
  terminal: Terminal,
  { part, path, previous }: ShardOut,
  shard: Shard,
): Promise<void> {
  terminal.clearStatus();
  if (shard === previous) {
    terminal.note(`${path}: this shard is there already; --fresh measures it again`);
    return;
  }
  await writeShardFile(path, shard);
  terminal.note(
    `Written: ${path}, shard ${shardText(part)} with ${shard.units.size} results; lowbit-kv merge puts all of them together`,
  );
}

/** A damaged file is measured again, and said to be. */
async function wholeShard(terminal: Terminal, path: string): Promise<Shard | undefined> {
  try {
    return (await readShardFile(path)).shard;
  } catch (error) {
    if (!LowbitKvError.is(error, 'SHARD_INVALID')) throw error;
    terminal.note(`${path} is not used: ${error.summary}`);
    return undefined;
  }
}
