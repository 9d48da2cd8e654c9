/**
 * `lowbit-kv merge`: puts the shards of a comparison or an evaluation together.
 */
import { readdir, stat } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { LowbitKvError } from '@lowbit-kv/core';
import {
  isShardFileName,
  mergeShards,
  readShardFile,
  type ShardFile,
  type ShardSource,
} from '@lowbit-kv/harness';
import { withoutHome } from '@lowbit-kv/report';
import { type GateCommandOptions, openGate } from '../gate-option.js';
import { writeJson } from '../out-file.js';
import { endWithReport, type PrintOptions } from '../report-end.js';
import { checkReportOut, type ReportOutOptions, writeReportOut } from '../report-out.js';
import type { Terminal } from '../terminal.js';

export interface MergeCommandOptions extends GateCommandOptions, PrintOptions, ReportOutOptions {}

/** Who measured which units, beside the files of the report. */
export const SHARDS_FILE = 'shards.json';

/** Exit codes of the command that measured. */
export async function merge(
  terminal: Terminal,
  options: MergeCommandOptions,
  ...paths: string[]
): Promise<number> {
  const benches = await checkReportOut(terminal, options);
  const files = await readShards(paths.map((path) => resolve(terminal.directory, path)));
  const { commandLine } = terminal;
  const { report, sources, shown } = mergeShards(
    files,
    commandLine === undefined ? {} : { command: commandLine },
  );
  const gate = await openGate(options, files[0]?.shard.header.kind ?? 'compare');
  const machines = new Set(sources.flatMap(({ machine }) => machine ?? []));
  if (machines.size > 1)
    terminal.note(`The shards were measured on ${machines.size} kinds of machines.`);
  return endWithReport(terminal, report, options, gate, async () => {
    if (options.out === undefined) return;
    const folder = resolve(terminal.directory, options.out);
    await writeSources(join(folder, SHARDS_FILE), sources);
    await writeReportOut(terminal, options.out, report, shown, {
      ...(machines.size > 0 && { machine: [...machines].join('; ') }),
      shards: sources,
      benches,
    });
  });
}

/** Folders stand for the shard files in them. Throws SHARD_INVALID. */
async function readShards(paths: readonly string[]): Promise<ShardFile[]> {
  const files: string[] = [];
  for (const path of paths) {
    const isFolder = (await stat(path).catch(() => null))?.isDirectory() ?? false;
    files.push(...(isFolder ? await shardsIn(path) : [path]));
  }
  // A file may be named by itself and by its folder.
  return Promise.all([...new Set(files)].map(readShardFile));
}

async function shardsIn(folder: string): Promise<string[]> {
  const names = (await readdir(folder)).filter(isShardFileName);
  if (names.length > 0) return names.map((name) => join(folder, name));
  throw new LowbitKvError('SHARD_INVALID', {
    message: 'there is no shard file in this folder',
    value: folder,
    valid: 'a folder that --out of a command with --shard named',
    next: 'Correct the path, or run the shards first.',
  });
}

async function writeSources(path: string, sources: readonly ShardSource[]): Promise<void> {
  await writeJson(path, withoutHome({ shards: sources }));
}
