/**
 * `--out` of commands that measure: the report as files, beside what they print.
 */
import { availableParallelism } from 'node:os';
import { basename, resolve } from 'node:path';
import {
  type Calibration,
  createPlan,
  type Geometry,
  LowbitKvError,
  schemeDataOf,
} from '@lowbit-kv/core';
import { type MemoryFigure, memoryFigures, parseBenchReport } from '@lowbit-kv/harness';
import {
  type AnyReport,
  checkReportFolder,
  type NamedBench,
  writeReportFiles,
} from '@lowbit-kv/report';
import { readOwnManifest } from './manifest.js';
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

interface Measured {
  readonly benches: readonly NamedBench[];
  readonly named: readonly NamedScheme[];
  /** The model, where a report has no memory figures of its own. */
  readonly planned?: {
    readonly geometry: Geometry;
    readonly calibrations: Readonly<Record<string, Calibration>>;
  };
}

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

/** Says on stderr what it wrote. Throws OPTION_INVALID. */
export async function writeReportOut(
  terminal: Terminal,
  out: string | undefined,
  report: AnyReport,
  { named, planned, benches }: Measured,
): Promise<void> {
  if (out === undefined) return;
  const memory = planned === undefined ? {} : memoryOf(named, planned);
  const commit = await sourceCommit();
  const paths = await writeReportFiles(resolve(terminal.directory, out), report, {
    version: `lowbit-kv ${readOwnManifest().version}`,
    ...(commit !== null && { commit }),
    ...(benches.length > 0 && { benches }),
    machine: `${process.platform} ${process.arch}, ${availableParallelism()} cores, node ${process.version}`,
    ...(terminal.commandLine !== undefined && { command: terminal.commandLine }),
    configs: Object.fromEntries(
      named.flatMap((entry) => {
        const config = configOf(entry);
        return config === null ? [] : [[entry.scheme.id, config]];
      }),
    ),
    ...(Object.keys(memory).length > 0 && { memory }),
  });
  terminal.note(`Written: ${paths.join(', ')}`);
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

/** Schemes that cannot be planned are left out: the report says of them that they are refused, and why. */
function memoryOf(
  named: readonly NamedScheme[],
  { geometry, calibrations }: NonNullable<Measured['planned']>,
): Record<string, MemoryFigure[]> {
  const figures: Record<string, MemoryFigure[]> = {};
  for (const { scheme } of named) {
    const calibration = calibrations[scheme.id];
    try {
      const plan = createPlan(scheme, geometry, calibration === undefined ? {} : { calibration });
      figures[scheme.id] = memoryFigures(plan);
    } catch (error) {
      if (!LowbitKvError.is(error)) throw error;
    }
  }
  return figures;
}
