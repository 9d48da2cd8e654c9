/**
 * `lowbit-kv bench`: what packing, appending and attention take, against f16 and a copy, and against an earlier run.
 */
import { resolve } from 'node:path';
import { LowbitKvError } from '@lowbit-kv/core';
import {
  BENCH_OPERATIONS,
  type BenchComparison,
  type BenchOperation,
  type BenchProgress,
  type BenchReport,
  benchCases,
  benchMachine,
  caseText,
  compareBench,
  formatBench,
  machineDifferences,
  parseBenchReport,
  runBench,
  timeText,
} from '@lowbit-kv/harness';
import { withoutHome } from '@lowbit-kv/report';
import { benchPath, writeBench } from '../bench/bench-file.js';
import { type BackendId, GPU_BACKENDS, openDevices } from '../bench/open-devices.js';
import { GATE_FAILED } from '../gate-option.js';
import { openLog } from '../log.js';
import { LOG_VARIABLE } from '../log-level.js';
import { readOwnManifest } from '../manifest.js';
import { readReport } from '../read-report.js';
import { reportError } from '../report-error.js';
import { placeholderCalibration } from '../schemes/placeholder-calibration.js';
import { resolveSchemes } from '../schemes/resolve-schemes.js';
import { sourceCommit } from '../source-commit.js';
import type { Terminal } from '../terminal.js';

export interface HeadCounts {
  readonly queryHeads: number;
  readonly kvHeads: number;
}

export interface BenchCommandOptions {
  readonly scheme?: readonly string[];
  readonly all?: boolean;
  readonly backend?: readonly BackendId[];
  readonly operation?: readonly BenchOperation[];
  readonly batch?: readonly number[];
  readonly tokens?: readonly number[];
  readonly queryTokens?: readonly number[];
  readonly heads?: readonly HeadCounts[];
  readonly headDim?: readonly number[];
  readonly samples: number;
  readonly warmUp: number;
  readonly allowEmulation?: boolean;
  readonly out?: string;
  readonly compare?: string;
  /** Percent. */
  readonly threshold: number;
  readonly allowDifferentMachine?: boolean;
  readonly json?: boolean;
  readonly markdown?: boolean;
}

/** Reports of different machines: as a wrong command line. */
const DIFFERENT_MACHINE = 2;

/** One of each kind of kernel. */
const SCHEMES = ['kivi-4bit-g128', 'kivi-2bit-g128', 'innerq-base', 'oaken-sm'];

/** What runs in seconds where no card does the work, and what fills a card. */
const DEFAULTS = {
  host: { batch: [1], tokens: [512, 2048], heads: [{ queryHeads: 8, kvHeads: 2 }] },
  gpu: { batch: [1, 8], tokens: [8192, 32768], heads: [{ queryHeads: 32, kvHeads: 8 }] },
} as const;

/** Exit code 3 when something became slower than `--compare` allows; else 1 when nothing could be measured. */
export async function bench(terminal: Terminal, options: BenchCommandOptions): Promise<number> {
  const { directory } = terminal;
  const base =
    options.compare === undefined
      ? null
      : await readReport(resolve(directory, options.compare), parseBenchReport);
  const out = options.out === undefined ? null : await benchPath(resolve(directory, options.out));
  const names = options.scheme ?? (options.all === true ? undefined : SCHEMES);
  const named = await resolveSchemes(names, terminal, options.all);
  const backends = options.backend ?? ['reference'];
  const onCards = backends.every((id) => GPU_BACKENDS.includes(id));
  const defaults = DEFAULTS[onCards ? 'gpu' : 'host'];
  const cases = benchCases({
    operations: options.operation ?? BENCH_OPERATIONS,
    batches: options.batch ?? defaults.batch,
    contexts: options.tokens ?? defaults.tokens,
    tokens: options.queryTokens ?? [1],
    heads: options.heads ?? defaults.heads,
    headDims: options.headDim ?? [128],
  });
  const tool = { version: readOwnManifest().version, commit: await sourceCommit() };
  const log = await openLog(terminal);
  if (log !== undefined)
    terminal.note(
      `${terminal.errColors.yellow('warning')}: times include the writing of the log that ${LOG_VARIABLE} asks for.`,
    );
  const opened = await openDevices(backends, log);
  let report: BenchReport;
  try {
    const differences =
      base === null ? [] : machineDifferences(base, await benchMachine(opened.devices));
    if (differences.length > 0 && options.allowDifferentMachine !== true) {
      reportError(terminal, differentMachine(differences));
      return DIFFERENT_MACHINE;
    }
    report = await runBench({
      schemes: named.map(({ scheme }) => scheme),
      devices: opened.devices,
      cases,
      samples: options.samples,
      warmUpMilliseconds: options.warmUp,
      allowEmulation: options.allowEmulation ?? false,
      calibrationOf: placeholderCalibration,
      tool,
      ...(terminal.commandLine !== undefined && { command: terminal.commandLine }),
      onProgress: (progress) => terminal.status(progressText(progress)),
      signal: terminal.interruption(),
    });
  } finally {
    terminal.clearStatus();
    opened.dispose();
  }
  const comparison = base === null ? null : compareBench(base, report, options.threshold / 100);
  const shown = withoutHome(report);
  if (options.json === true) terminal.print(JSON.stringify(shown, null, 2));
  else {
    const style = options.markdown === true ? 'markdown' : 'text';
    terminal.print(formatBench(report, { style, ...(comparison !== null && { comparison }) }));
  }
  if (out !== null) await writeBench(terminal, out, shown);
  if (comparison !== null && !tellChanges(terminal, comparison, options.threshold))
    return GATE_FAILED;
  if (report.rows.some(({ status }) => status === 'measured')) return 0;
  terminal.note('Nothing could be measured: see the notes.');
  return 1;
}

/** On stderr: each regression, and what all came to. False when there is one. */
function tellChanges(
  terminal: Terminal,
  { changes, onlyBefore, onlyAfter }: BenchComparison,
  threshold: number,
): boolean {
  const { red, green } = terminal.errColors;
  const bad = changes.filter(({ outcome }) => outcome === 'slower' || outcome === 'lost');
  for (const { row, before, after, relative } of bad) {
    const what = `${row.scheme} on ${row.backend}, ${caseText(row)}`;
    const now =
      after === null || relative === null
        ? `${timeText(before)} us before, not measured now`
        : `${timeText(before)} us before, ${timeText(after)} now (+${(100 * relative).toFixed(1)} %)`;
    terminal.note(`${red('regression')}: ${what}: ${now}`);
  }
  for (const { row, schemeChanged } of changes)
    if (schemeChanged) terminal.note(`${row.scheme} is another scheme than in the base`);
  if (onlyBefore > 0) terminal.note(`Not asked for now, of the base: ${onlyBefore}`);
  if (onlyAfter > 0) terminal.note(`Not in the base: ${onlyAfter}`);
  if (changes.length === 0) terminal.note('No row of the base was measured: nothing is compared.');
  else if (bad.length === 0)
    terminal.note(green(`none slower by more than ${threshold} %, of ${changes.length}`));
  return bad.length === 0;
}

function differentMachine(differences: readonly string[]): LowbitKvError {
  return new LowbitKvError('OPTION_INVALID', {
    message: 'the base was measured on another machine',
    value: differences,
    valid: 'a base of the same device, clock and, on the host, processor',
    next: 'Measure a base here, or compare nevertheless with --allow-different-machine.',
    where: { field: 'compare' },
  });
}

function progressText({ row, rows, backend, scheme, case: benchCase }: BenchProgress): string {
  return `${row + 1}/${rows} ${scheme} on ${backend}: ${caseText(benchCase)}`;
}
