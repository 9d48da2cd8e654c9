/**
 * `--out` of commands that measure: the report as files, beside what they print.
 */
import { basename, resolve } from 'node:path';
import {
  type Calibration,
  createPlan,
  type Geometry,
  LowbitKvError,
  schemeDataOf,
} from '@lowbit-kv/core';
import {
  type MemoryFigure,
  memoryFigures,
  parseBenchReport,
  type ShardContext,
} from '@lowbit-kv/harness';
import {
  type AnyReport,
  checkReportFolder,
  type NamedBench,
  type ReportContext,
  writeReportFiles,
} from '@lowbit-kv/report';
import { provenanceOf } from './provenance.js';
import { readReport } from './read-report.js';
import { BUILTIN_PACKAGES, type NamedScheme } from './schemes/builtin-schemes.js';
import { sourceCommit } from './source-commit.js';
import type { Terminal } from './terminal.js';

export interface ReportOutOptions {
  /** Folder for the files. */
  readonly out?: string;
  /** Files of `lowbit-kv bench`, for what the page says of speed. */
  readonly bench?: readonly string[];
}

export interface Measured {
  readonly named: readonly NamedScheme[];
  /** The model, where a report has no memory figures of its own. */
  readonly planned?: {
    readonly geometry: Geometry;
    readonly calibrations: Readonly<Record<string, Calibration>>;
  };
}

/** By scheme id: what pages and files show of a scheme beside its row. */
export type Shown = NonNullable<ShardContext['shown']>;

/** Reads the benchmarks. Before anything is measured: that takes minutes. Throws OPTION_INVALID. */
export async function checkReportOut(
  { directory }: Terminal,
  { out, bench = [] }: ReportOutOptions,
): Promise<NamedBench[]> {
  if (out === undefined && bench.length > 0) {
    throw new LowbitKvError('OPTION_INVALID', {
      message: '--bench is for the files of --out',
      value: bench,
      valid: '--out with it',
      next: 'Add --out FOLDER, or leave --bench out.',
      where: { field: 'bench' },
    });
  }
  if (out !== undefined) await checkReportFolder(resolve(directory, out));
  return Promise.all(
    bench.map(async (file) => ({
      name: basename(file),
      report: await readReport(resolve(directory, file), parseBenchReport),
    })),
  );
}

/** Says on stderr what it wrote. Throws OPTION_INVALID and FILE_NOT_WRITTEN. */
export async function writeReportOut(
  terminal: Terminal,
  out: string | undefined,
  report: AnyReport,
  shown: Shown,
  { benches = [], ...more }: Pick<ReportContext, 'machine' | 'shards' | 'benches'> = {},
): Promise<void> {
  if (out === undefined) return;
  const configs = mapDefined(shown, ({ config }) => config);
  const memory = mapDefined(shown, (one) => one.memory);
  const commit = await sourceCommit();
  const paths = await writeReportFiles(resolve(terminal.directory, out), report, {
    ...provenanceOf(terminal),
    ...more,
    ...(commit !== null && { commit }),
    ...(benches.length > 0 && { benches }),
    configs,
    ...(Object.keys(memory).length > 0 && { memory }),
  });
  terminal.note(`Written: ${paths.join(', ')}`);
}

export function shownOf({ named, planned }: Measured): Shown {
  return Object.fromEntries(
    named.map((entry) => {
      const config = configOf(entry);
      const memory = planned === undefined ? null : memoryOf(entry, planned);
      return [
        entry.scheme.id,
        { ...(config !== null && { config }), ...(memory !== null && { memory }) },
      ];
    }),
  );
}

function mapDefined<From, To>(
  shown: Readonly<Record<string, From>>,
  take: (entry: From) => To | undefined,
): Record<string, To> {
  return Object.fromEntries(
    Object.entries(shown).flatMap(([id, entry]) => {
      const taken = take(entry);
      return taken === undefined ? [] : [[id, taken]];
    }),
  );
}

/** An import for presets that come with this command, else the data as a scheme file holds them; none for code. */
function configOf({ scheme, source }: NamedScheme): string | null {
  if (!BUILTIN_PACKAGES.includes(source))
    return scheme.codecs === undefined ? JSON.stringify(schemeDataOf(scheme), null, 2) : null;
  return [
    "import { createLowbitKv } from '@lowbit-kv/core';",
    `import { presets } from '${source}';`,
    '',
    'const kv = createLowbitKv({ schemes: presets });',
    `const scheme = kv.schemes.get('${scheme.id}');`,
  ].join('\n');
}

/** Null for a scheme that cannot be planned: the report says of it that it is refused, and why. */
function memoryOf(
  { scheme }: NamedScheme,
  { geometry, calibrations }: NonNullable<Measured['planned']>,
): MemoryFigure[] | null {
  const calibration = calibrations[scheme.id];
  try {
    const plan = createPlan(scheme, geometry, calibration === undefined ? {} : { calibration });
    return memoryFigures(plan);
  } catch (error) {
    if (!LowbitKvError.is(error)) throw error;
    return null;
  }
}
