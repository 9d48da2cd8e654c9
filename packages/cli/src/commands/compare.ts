/**
 * `lowbit-kv compare`: replays decoding of a capture under each scheme and prints what it costs and saves.
 */

import { availableParallelism } from 'node:os';
import { resolve } from 'node:path';
import { createLowbitKv, type Scheme } from '@lowbit-kv/core';
import {
  type CompareProgress,
  type CompareReport,
  compareSchemes,
  defaultCapturePath,
  formatReport,
  mergeReports,
  openCapture,
} from '@lowbit-kv/harness';
import { createBackends } from '../backends.js';
import { readCalibrations } from '../calibration-file.js';
import { colorVerdicts } from '../color-verdicts.js';
import { GATE_FAILED, type GateCommandOptions, openGate, reportGate } from '../gate-option.js';
import { checkReportOut, type ReportOutOptions, writeReportOut } from '../report-out.js';
import { BUILTIN_PACKAGES, type NamedScheme } from '../schemes/builtin-schemes.js';
import { calibrationsOf, resolveNames } from '../schemes/resolve-schemes.js';
import type { Terminal } from '../terminal.js';
import { compareElsewhere } from './compare-elsewhere.js';

export interface CompareCommandOptions extends GateCommandOptions, ReportOutOptions {
  readonly capture?: string;
  readonly scheme?: readonly string[];
  readonly all?: boolean;
  readonly backend: string;
  readonly allowEmulation?: boolean;
  readonly calibration?: string;
  readonly positions?: number;
  readonly modelLayers?: number;
  readonly json?: boolean;
  readonly markdown?: boolean;
}

/**
 * Exit code 3 when a gate that was asked for failed; else 1 when a self-check failed (the figures of that row mean nothing), or
 * when nothing could be measured.
 */
export async function compare(terminal: Terminal, options: CompareCommandOptions): Promise<number> {
  const gate = await openGate(options, 'compare');
  const benches = await checkReportOut(terminal, options);
  const { schemes: named, simulations } = await resolveNames(options.scheme, terminal, options.all);
  const kv = createLowbitKv({
    schemes: named.map(({ scheme }) => scheme),
    backends: await createBackends(options.backend),
  });
  const schemes = kv.schemes.list();
  const given =
    options.calibration === undefined
      ? {}
      : await readCalibrations(resolve(terminal.directory, options.calibration), schemes);
  const calibrations = { ...calibrationsOf(named), ...given };
  const capture = await openCapture(
    options.capture === undefined
      ? defaultCapturePath()
      : resolve(terminal.directory, options.capture),
  );
  try {
    const run = (part: readonly Scheme[]) =>
      compareSchemes({
        capture,
        schemes: part,
        simulations,
        backend: kv.backends.get(options.backend),
        calibrations,
        allowEmulation: options.allowEmulation ?? false,
        ...(options.positions === undefined ? {} : { positions: options.positions }),
        ...(options.modelLayers === undefined ? {} : { modelLayers: options.modelLayers }),
        onProgress: (progress) => terminal.status(progressText(progress)),
      });
    const elsewhere = elsewhereIds(terminal, options, named);
    const ids = [...schemes, ...simulations].map(({ id }) => id);
    const report = await (elsewhere.length > 0
      ? compareInTwo(terminal, options, elsewhere, ids, () =>
          run(schemes.filter(({ id }) => !elsewhere.includes(id))),
        )
      : run(schemes));
    terminal.clearStatus();
    if (options.json === true) terminal.print(JSON.stringify(report, null, 2));
    else if (options.markdown === true) terminal.print(formatReport(report, 'markdown'));
    else terminal.print(colorVerdicts(formatReport(report), terminal.outColors));
    await writeReportOut(terminal, options.out, report, { named, benches });
    if (!report.valid) terminal.note('A self-check failed: see the verdicts.');
    const measured = report.schemes.some(
      ({ id, status }) => id !== 'f16' && (status === 'measured' || status === 'simulated'),
    );
    if (!measured) terminal.note('No scheme could be measured: see the verdicts.');
    if (gate !== null && !reportGate(terminal, gate(report))) return GATE_FAILED;
    return report.valid && measured ? 0 : 1;
  } finally {
    await capture.close();
  }
}

/**
 * Every second preset, for a process of its own. Only many presets take long; what the user names may be one scheme, or
 * files that print.
 */
function elsewhereIds(
  { self }: Terminal,
  { scheme, all, calibration }: CompareCommandOptions,
  named: readonly NamedScheme[],
): string[] {
  const chosen = (scheme !== undefined && all !== true) || calibration !== undefined;
  if (self === undefined || chosen || availableParallelism() < 2) return [];
  return named
    .filter(({ source }) => BUILTIN_PACKAGES.includes(source))
    .filter((_, i) => i % 2 === 1)
    .map(({ scheme: { id } }) => id);
}

/** The schemes of some ids run in a process of its own; equal to one run, to the byte. */
async function compareInTwo(
  terminal: Terminal,
  { capture, backend, allowEmulation, positions, modelLayers }: CompareCommandOptions,
  elsewhere: readonly string[],
  ids: readonly string[],
  runRest: () => Promise<CompareReport>,
): Promise<CompareReport> {
  const args = ['--backend', backend, ...(capture === undefined ? [] : ['--capture', capture])];
  if (allowEmulation === true) args.push('--allow-emulation');
  if (positions !== undefined) args.push('--positions', String(positions));
  if (modelLayers !== undefined) args.push('--model-layers', String(modelLayers));
  args.push('--scheme', ...elsewhere);
  const other = compareElsewhere(terminal.self ?? [], args, terminal);
  try {
    const own = await runRest();
    return mergeReports([own, await other.report], ids);
  } finally {
    other.stop();
  }
}

function progressText({ id, scheme, schemes, step, steps }: CompareProgress): string {
  return `${scheme + 1}/${schemes} ${id}: step ${step}/${steps}`;
}
