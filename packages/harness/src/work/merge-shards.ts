/** Puts the shards of a comparison or an evaluation together: the report that one process would have given. */
import { canonicalJson, LowbitKvError } from '@lowbit-kv/core';
import type * as z from 'zod';
import { compareReport } from '../compare.js';
import { compareGroups } from '../compare-work.js';
import { compareUnitSchema } from '../comparison.js';
import { evalResults, sameEvalUnit, unneededEvalUnits } from '../eval/eval-merge.js';
import { evalReport } from '../eval/eval-report.js';
import { evalUnitSchema } from '../eval/eval-shard.js';
import { evalGroups } from '../eval/eval-work.js';
import type { JudgedReport } from '../gate/report-figures.js';
import { partition, unitNames, type WorkGroup } from './partition.js';
import { mergeRefusal, NAMED, requireSameWork } from './same-work.js';
import type { CompareShard, EvalShard, Shard, ShardHeader } from './shard.js';
import type { ShardFile } from './shard-file.js';
import { shardText } from './shard-part.js';

/** Who measured a part of a merged report. */
export interface ShardSource {
  readonly file: string;
  /** Such as `1/8`. */
  readonly shard: string;
  readonly version: string;
  readonly command: string | null;
  readonly machine: string | null;
  /** Names of its units. */
  readonly units: readonly string[];
}

export interface MergedReport {
  readonly report: JudgedReport;
  /** In the order of the shards. */
  readonly sources: readonly ShardSource[];
  /** By scheme id: what the shards brought for pages and files. */
  readonly shown: ShardHeader['shown'];
}

/**
 * Equal to the report of one process, byte for byte, but for times, `resumed`, `command` (the one given here) and, of
 * evaluations, the setting `machine` (that of all shards). Names that may differ between machines, such as the path of a
 * capture, are those of the first shard.
 *
 * Throws MERGE_REFUSED when units are missing, when shards of other inputs or versions are among them, or when a unit that is
 * in several differs; SHARD_INVALID for results that are malformed.
 */
export function mergeShards(
  files: readonly ShardFile[],
  { command }: { readonly command?: string } = {},
): MergedReport {
  const sorted = files.toSorted((a, b) => compareParts(a.shard, b.shard));
  const [first] = sorted;
  if (first === undefined)
    throw mergeRefusal('there is no shard to merge', 0, 'Name the files of all shards.');
  for (const other of sorted.slice(1)) requireSameWork(first, other);
  const report =
    first.shard.header.kind === 'compare'
      ? mergeComparison(sorted as ShardFile<CompareShard>[])
      : mergeEvaluation(sorted as ShardFile<EvalShard>[], command);
  return {
    report,
    sources: sorted.map(({ file, shard: { header, units } }) => ({
      ...{ file, shard: shardText(header.shard), version: header.version },
      ...header.provenance,
      units: [...units.keys()],
    })),
    shown: Object.assign({}, ...sorted.map(({ shard }) => shard.header.shown)),
  };
}

function mergeComparison(files: readonly ShardFile<CompareShard>[]): JudgedReport {
  const { work } = (files[0] as ShardFile<CompareShard>).shard.header;
  const units = collect(files, compareUnitSchema, (a, b) => canonicalJson(a) === canonicalJson(b));
  requireAll(files, compareGroups(work), (unit) => units.has(unit));
  return compareReport(work, units);
}

function mergeEvaluation(
  files: readonly ShardFile<EvalShard>[],
  command: string | undefined,
): JudgedReport {
  const headers = files.map(({ shard }) => shard.header);
  const { work } = headers[0] as EvalShard['header'];
  const units = collect(files, evalUnitSchema, sameEvalUnit);
  const unneeded = unneededEvalUnits(work, units);
  requireAll(files, evalGroups(work), (unit) => units.has(unit) || unneeded.has(unit));
  const facts = new Map(headers.flatMap((header) => Object.entries(header.facts)));
  const machines = new Set(headers.flatMap(({ work }) => work.settings.machine ?? []));
  const settings = {
    ...work.settings,
    ...(machines.size > 0 && { machine: [...machines].join('; ') }),
  };
  const damaged = headers.flatMap((header) => header.damaged);
  const results = { ...evalResults(work, units, facts), damaged };
  return evalReport({ ...work, settings }, results, command);
}

/** Results by unit; of one that is in several shards the first. */
function collect<Unit>(
  files: readonly ShardFile[],
  schema: z.ZodType<Unit>,
  same: (a: Unit, b: Unit) => boolean,
): Map<string, Unit> {
  const found = new Map<string, { readonly file: string; readonly result: Unit }>();
  for (const { file, shard } of files) {
    for (const [unit, content] of shard.units) {
      const { success, data: result, error } = schema.safeParse(content);
      if (!success) {
        throw new LowbitKvError('SHARD_INVALID', {
          message: `a result of a shard is malformed: ${unit}`,
          value: error.issues[0]?.message,
          valid: 'shard files as --shard wrote them',
          next: 'Run the shard again.',
          where: { file },
        });
      }
      const before = found.get(unit);
      if (before === undefined) found.set(unit, { file, result });
      else if (!same(before.result, result)) {
        throw mergeRefusal(
          `two shards have different results of one unit: ${unit}`,
          [before.file, file],
          'Run both again on one kind of machine, with equal threads, runtimes and files of the model.',
        );
      }
    }
  }
  return new Map([...found].map(([unit, { result }]) => [unit, result]));
}

function requireAll(
  files: readonly ShardFile[],
  groups: readonly WorkGroup[],
  isThere: (unit: string) => boolean,
): void {
  const missing = unitNames(groups).filter((unit) => !isThere(unit));
  if (missing.length === 0) return;
  const of = files[0]?.shard.header.shard.of ?? 1;
  const shardOf = partition(groups, of);
  const shards = [...new Set(missing.map((unit) => shardOf.get(unit) as number))].sort(
    (a, b) => a - b,
  );
  const more = missing.length > NAMED ? ` and ${missing.length - NAMED} more` : '';
  throw mergeRefusal(
    `units are missing: ${missing.slice(0, NAMED).join(', ')}${more}`,
    files.map(({ file }) => file),
    `Run the same command with ${shards.map((index) => `--shard ${index}/${of}`).join(', ')}, and name what it writes as well.`,
  );
}

function compareParts(a: Shard, b: Shard): number {
  const [one, other] = [a.header.shard, b.header.shard];
  return one.of - other.of || one.index - other.index;
}
