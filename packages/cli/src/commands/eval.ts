/**
 * `lowbit-kv eval`: what each scheme does to a language model's predictions on a text.
 */
import { resolve } from 'node:path';
import type { Calibration } from '@lowbit-kv/core';
import {
  cutWindows,
  type EvalProgress,
  type EvaluateOptions,
  evalShardSchemes,
  evaluate,
  evaluateShard,
  F16,
} from '@lowbit-kv/harness';
import { readCalibrations } from '../calibration-file.js';
import { type GateCommandOptions, openGate } from '../gate-option.js';
import { openKeptParts } from '../kept-parts.js';
import { noteOtherModels, refuseOverlap } from '../model/calibration-checks.js';
import { type EvalModel, type EvalModelOptions, openEvalModel } from '../model/eval-model.js';
import { canCalibrate, measureCalibration } from '../model/measure-calibrations.js';
import { findModel, type ModelOptions } from '../model/open-model.js';
import { withPromptStatistics } from '../model/prompt-statistics.js';
import { readTextTokens, TEXT_RULE, type TextTokens } from '../model/read-text.js';
import { duration } from '../numbers-as-text.js';
import { openRegistry } from '../open-registry.js';
import { endWithReport, type PrintOptions } from '../report-end.js';
import { checkReportOut, type ReportOutOptions, shownOf, writeReportOut } from '../report-out.js';
import type { NamedScheme } from '../schemes/builtin-schemes.js';
import { calibrationsOf, resolveSchemes } from '../schemes/resolve-schemes.js';
import {
  openShardOut,
  type ShardCommandOptions,
  shardContext,
  writeShardOut,
} from '../shard-out.js';
import type { Terminal } from '../terminal.js';

export interface EvalCommandOptions
  extends ModelOptions,
    EvalModelOptions,
    GateCommandOptions,
    PrintOptions,
    ReportOutOptions,
    ShardCommandOptions {
  readonly text: string;
  readonly scheme?: readonly string[];
  readonly all?: boolean;
  readonly windows: number;
  readonly window: number;
  readonly promptTokens?: number;
  readonly backend: string;
  readonly calibration?: string;
  readonly calibrationTokens: number;
  readonly allowCalibratedText?: boolean;
  /** Lengths of contexts. */
  readonly retrieval?: readonly number[];
}

/**
 * Exit code 3 when a gate that was asked for failed; else 1 when a self-check failed (the figures of that row mean nothing), or
 * when nothing could be measured. Rows of a shard are judged when it is merged.
 */
export async function evaluateModel(
  terminal: Terminal,
  options: EvalCommandOptions,
): Promise<number> {
  const { windows, window, promptTokens } = options;
  const shardOut = await openShardOut(terminal, options);
  const benches = shardOut === undefined ? await checkReportOut(terminal, options) : [];
  const gate = await openGate(options, 'eval');
  // f16 is a row of every evaluation.
  const names = options.scheme?.filter((name) => name !== F16.id);
  const resolved =
    names?.length === 0 && options.all !== true
      ? []
      : await resolveSchemes(names, terminal, options.all);
  const named = resolved.map((entry) =>
    promptTokens === undefined
      ? entry
      : { ...entry, scheme: withPromptStatistics(entry.scheme, promptTokens) },
  );
  const given = named.map(({ scheme }) => scheme);
  const kv = await openRegistry(terminal, given, options.backend);
  const schemes = kv.schemes.list();
  const found = await findModel(terminal, options);
  const text = await readTextTokens(terminal.directory, options.text, found.tokenizer);
  const longest = Math.max(window, ...(options.retrieval ?? []));
  const inner = { backend: kv.backends.get(options.backend), tokens: longest };
  const opened = await openEvalModel(found, inner, options);
  try {
    // Refused before anything is calibrated.
    cutWindows(text.tokens, { windows, windowTokens: window }, opened.model);
    const settings = {
      text: TEXT_RULE,
      backend: options.backend,
      ...(promptTokens !== undefined && { promptTokens: String(promptTokens) }),
      ...opened.settings,
    };
    const uncalibrated: EvaluateOptions = {
      model: opened.model,
      text,
      schemes,
      windows,
      windowTokens: window,
      settings,
      ...(options.retrieval !== undefined && {
        retrieval: {
          encode: (piece) => found.tokenizer.encode(piece),
          contexts: options.retrieval,
        },
      }),
    };
    const own = shardOut === undefined ? undefined : evalShardSchemes(uncalibrated, shardOut.part);
    const isOwn = (id: string) => own?.includes(id) ?? true;
    const calibrations = await calibrationsFor(terminal, options, opened, named, text, isOwn);
    const shown = {
      named: named.filter(({ scheme }) => isOwn(scheme.id)),
      planned: { geometry: opened.model.geometry, calibrations },
    };
    const parts = await openKeptParts(terminal, 'eval', options.fresh);
    const evaluated: EvaluateOptions = {
      ...uncalibrated,
      calibrations,
      ...(terminal.commandLine !== undefined && { command: terminal.commandLine }),
      store: parts.store,
      onProgress: (progress) => terminal.status(progressText(progress)),
      signal: terminal.interruption(),
    };
    if (shardOut !== undefined) {
      const { part, previous } = shardOut;
      const context = shardContext(terminal, shown);
      const shard = await parts.during(() => evaluateShard(evaluated, part, context, previous));
      await writeShardOut(terminal, shardOut, shard);
      await parts.finish();
      return 0;
    }
    const report = await parts.during(() => evaluate(evaluated));
    return await endWithReport(terminal, report, options, gate, async () => {
      await writeReportOut(terminal, options.out, report, shownOf(shown), { benches });
      await parts.finish();
    });
  } finally {
    await opened.dispose();
  }
}

/**
 * What a file gives, what came with schemes, and for the others, those that are measured here, what is measured on tokens after
 * the windows.
 */
async function calibrationsFor(
  terminal: Terminal,
  options: EvalCommandOptions,
  { calibrated, model }: EvalModel,
  named: readonly NamedScheme[],
  text: TextTokens,
  isMeasured: (id: string) => boolean,
): Promise<Record<string, Calibration>> {
  const schemes = named.map(({ scheme }) => scheme);
  const evaluated = options.windows * options.window;
  const given =
    options.calibration === undefined
      ? {}
      : await readCalibrations(resolve(terminal.directory, options.calibration), schemes);
  const calibrations = { ...calibrationsOf(named), ...given };
  noteOtherModels(terminal, calibrations, model.fingerprint);
  if (options.allowCalibratedText !== true)
    refuseOverlap(calibrations, { textSha256: text.sha256, tokens: evaluated });
  const missing = schemes.filter(
    (scheme) =>
      isMeasured(scheme.id) && canCalibrate(scheme) && calibrations[scheme.id] === undefined,
  );
  if (missing.length === 0 || calibrated === null) return calibrations;
  const tokens = Math.min(options.calibrationTokens, text.tokens.length - evaluated);
  if (tokens < options.calibrationTokens) {
    terminal.note(
      `${text.name} has ${Math.max(0, tokens)} tokens after the windows, too few of the ${options.calibrationTokens} to calibrate on: ${missing.map(({ id }) => id).join(', ')}; ask for fewer with --calibration-tokens, or give --calibration`,
    );
    return calibrations;
  }
  for (const scheme of missing) {
    const where = { text, first: evaluated, tokens };
    calibrations[scheme.id] = await measureCalibration(terminal, calibrated, scheme, where);
    terminal.note(
      `${scheme.id} is calibrated on tokens ${evaluated} to ${evaluated + tokens - 1} of ${text.name}, which are not evaluated`,
    );
  }
  return calibrations;
}

function progressText(progress: EvalProgress): string {
  const { phase, id, part, parts, tokensPerSecond, secondsLeft } = progress;
  const left = secondsLeft === null ? '' : `, ${duration(secondsLeft)} left`;
  const what = phase === 'windows' ? 'window' : 'prompt';
  return `${what} ${part + 1}/${parts} ${id}: ${tokensPerSecond.toFixed(0)} tokens/s${left}`;
}
