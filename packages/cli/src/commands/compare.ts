/**
 * `lowbit-kv compare`: replays decoding of a capture under each scheme and prints what it costs and saves.
 */

import { availableParallelism } from 'node:os';
import { resolve } from 'node:path';
import { LowbitKvError } from '@lowbit-kv/core';
import {
  type CompareOptions,
  type CompareProgress,
  compareSchemes,
  compareShard,
  defaultCapturePath,
  openCapture,
} from '@lowbit-kv/harness';
import { readCalibrations } from '../calibration-file.js';
import { type GateCommandOptions, openGate } from '../gate-option.js';
import { type KeptParts, openKeptParts } from '../kept-parts.js';
import { isLogged } from '../log-level.js';
import { openRegistry } from '../open-registry.js';
import { ownVersion } from '../provenance.js';
import { endWithReport, type PrintOptions } from '../report-end.js';
import { checkReportOut, type ReportOutOptions, shownOf, writeReportOut } from '../report-out.js';
import type { NamedScheme } from '../schemes/builtin-schemes.js';
import { calibrationsOf, resolveNames } from '../schemes/resolve-schemes.js';
import {
  openShardOut,
  type ShardCommandOptions,
  shardContext,
  writeShardOut,
} from '../shard-out.js';
import type { Terminal } from '../terminal.js';
import { compareInTwo } from './compare-elsewhere.js';

export interface CompareCommandOptions
  extends GateCommandOptions,
    PrintOptions,
    ReportOutOptions,
    ShardCommandOptions {
  readonly capture?: string;
  readonly scheme?: readonly string[];
  readonly all?: boolean;
  readonly backend: string;
  readonly allowEmulation?: boolean;
  readonly calibration?: string;
  readonly positions?: number;
  readonly modelLayers?: number;
}

/**
 * Exit code 3 when a gate that was asked for failed; else 1 when a self-check failed (the figures of that row mean nothing), or
 * when nothing could be measured. Rows of a shard are judged when it is merged.
 */
export async function compare(terminal: Terminal, options: CompareCommandOptions): Promise<number> {
  const gate = await openGate(options, 'compare');
  const shardOut = await openShardOut(terminal, options);
  const benches = shardOut === undefined ? await checkReportOut(terminal, options) : [];
  const { schemes: named, simulations } = await resolveNames(options.scheme, terminal, options.all);
  const given = named.map(({ scheme }) => scheme);
  const kv = await openRegistry(terminal, given, options.backend);
  const schemes = kv.schemes.list();
  const fromFile =
    options.calibration === undefined
      ? {}
      : await readCalibrations(resolve(terminal.directory, options.calibration), schemes);
  const parts = await openParts(terminal, options);
  const capture = await openCapture(
    options.capture === undefined
      ? defaultCapturePath()
      : resolve(terminal.directory, options.capture),
  );
  try {
    const compared: CompareOptions = {
      capture,
      schemes,
      simulations,
      backend: kv.backends.get(options.backend),
      calibrations: { ...calibrationsOf(named), ...fromFile },
      allowEmulation: options.allowEmulation ?? false,
      ...(options.positions === undefined ? {} : { positions: options.positions }),
      ...(options.modelLayers === undefined ? {} : { modelLayers: options.modelLayers }),
      settings: { version: ownVersion(), node: process.version },
      ...(parts !== undefined && { store: parts.store }),
      onProgress: (progress) => terminal.status(progressText(progress)),
      signal: terminal.interruption(),
    };
    const context = shardContext(terminal, { named });
    const during = <Result>(work: () => Promise<Result>) => parts?.during(work) ?? work();
    const end = async () => {
      if (parts !== undefined && parts.taken() > 0)
        terminal.note(
          `${parts.taken()} rows were there already, from a run that did not finish; --fresh measures them again`,
        );
      await parts?.finish();
    };
    if (shardOut !== undefined) {
      const { part, previous } = shardOut;
      const shard = await during(() => compareShard(compared, part, context, previous));
      await writeShardOut(terminal, shardOut, shard);
      await end();
      return 0;
    }
    const inTwo = parts !== undefined && isLong(terminal, options, named);
    const report = await during(() =>
      inTwo
        ? compareInTwo(terminal, argumentsOf(options), parts.path, (part) =>
            compareShard(compared, part, context),
          )
        : compareSchemes(compared),
    );
    return await endWithReport(terminal, report, options, gate, async () => {
      await writeReportOut(terminal, options.out, report, shownOf({ named }), { benches });
      await end();
    });
  } finally {
    await capture.close();
  }
}

/** Only many presets take long; what the user names may be one scheme, or files that print. A log is that of one process. */
function isLong(
  terminal: Terminal,
  { scheme, all, calibration }: CompareCommandOptions,
  named: readonly NamedScheme[],
): boolean {
  const chosen = (scheme !== undefined && all !== true) || calibration !== undefined;
  if (terminal.self === undefined || isLogged(terminal)) return false;
  return !chosen && availableParallelism() > 1 && named.length > 1;
}

/** What a second process is told. */
function argumentsOf(options: CompareCommandOptions): string[] {
  const { capture, scheme, all, backend, allowEmulation, positions, modelLayers, fresh } = options;
  return [
    ...['--backend', backend],
    ...(capture === undefined ? [] : ['--capture', capture]),
    ...(all === true ? ['--all'] : []),
    ...(allowEmulation === true ? ['--allow-emulation'] : []),
    ...(positions === undefined ? [] : ['--positions', String(positions)]),
    ...(modelLayers === undefined ? [] : ['--model-layers', String(modelLayers)]),
    ...(fresh === true ? ['--fresh'] : []),
    ...(scheme === undefined ? [] : ['--scheme', ...scheme]),
  ];
}

/** A comparison of seconds must not need a folder to keep rows in: where there is none, that is said. */
async function openParts(
  terminal: Terminal,
  { shard, fresh }: CompareCommandOptions,
): Promise<KeptParts | undefined> {
  try {
    return await openKeptParts(terminal, 'compare', fresh);
  } catch (error) {
    if (shard !== undefined || !LowbitKvError.is(error, 'OPTION_INVALID')) throw error;
    terminal.note(`Rows are not kept, so an interrupted run starts again: ${error.summary}`);
    return undefined;
  }
}

function progressText({ id, scheme, schemes, step, steps }: CompareProgress): string {
  return `${scheme + 1}/${schemes} ${id}: step ${step}/${steps}`;
}
