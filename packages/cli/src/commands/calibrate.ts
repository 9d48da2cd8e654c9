/**
 * `lowbit-kv calibrate`: measures what schemes with offline calibration need, on a language model and a text.
 */
import { resolve } from 'node:path';
import { type Calibration, LowbitKvError } from '@lowbit-kv/core';
import { CALIBRATION_FILE } from '../calibration-file.js';
import { openCutModel } from '../model/cut-model.js';
import { canCalibrate, measureCalibration } from '../model/measure-calibrations.js';
import { findModel, type ModelOptions } from '../model/open-model.js';
import { readTextTokens, requireTokens, type TextTokens } from '../model/read-text.js';
import { checkOut, writeJson } from '../out-file.js';
import type { NamedScheme } from '../schemes/builtin-schemes.js';
import { resolveSchemes } from '../schemes/resolve-schemes.js';
import type { Terminal } from '../terminal.js';

export interface CalibrateCommandOptions extends ModelOptions {
  readonly scheme: readonly string[];
  readonly text: string;
  readonly firstToken: number;
  readonly tokens: number;
  /** Texts that schemes will be evaluated on. */
  readonly evaluationText?: readonly string[];
  readonly allowEvaluationText?: boolean;
  readonly out: string;
  readonly threads?: number;
}

export async function calibrate(
  terminal: Terminal,
  options: CalibrateCommandOptions,
): Promise<undefined> {
  const session = options.threads === undefined ? {} : { threads: options.threads };
  const chosen = calibratable(await resolveSchemes(options.scheme, terminal), options.scheme);
  const out = resolve(terminal.directory, options.out);
  await checkOut(out, CALIBRATION_FILE);
  const { name, files, tokenizer } = await findModel(terminal, options);
  const text = await readTextTokens(terminal.directory, options.text, tokenizer);
  requireTokens(text, options.firstToken, options.tokens);
  if (options.allowEvaluationText !== true) {
    for (const path of options.evaluationText ?? [])
      refuseSame(text, await readTextTokens(terminal.directory, path, tokenizer));
  }
  const { decoder, attention, dispose } = await openCutModel(files, session);
  const calibrations: Calibration[] = [];
  try {
    for (const { scheme } of chosen) {
      const model = { name, decoder, attention };
      const where = { text, first: options.firstToken, tokens: options.tokens };
      calibrations.push(await measureCalibration(terminal, model, scheme, where));
    }
  } finally {
    await dispose();
  }
  await writeJson(out, calibrations.length === 1 ? calibrations[0] : calibrations);
  const ids = chosen.map(({ scheme }) => scheme.id).join(', ');
  terminal.note(
    `${out}: calibration of ${ids}; use it with --calibration ${JSON.stringify(options.out)}`,
  );
  return;
}

/** Those of the named schemes that need a calibration. Throws OPTION_INVALID when none does. */
function calibratable(
  named: readonly NamedScheme[],
  names: readonly string[],
): readonly NamedScheme[] {
  const chosen = named.filter(({ scheme }) => canCalibrate(scheme));
  if (chosen.length > 0) return chosen;
  throw new LowbitKvError('OPTION_INVALID', {
    message: 'none of these schemes has an offline calibration',
    value: names,
    valid: 'schemes such as oaken or kvquant',
    next: 'Use them without one.',
    where: { field: 'scheme' },
  });
}

function refuseSame(text: TextTokens, evaluated: TextTokens): void {
  if (text.sha256 !== evaluated.sha256) return;
  throw new LowbitKvError('OPTION_INVALID', {
    message: 'schemes would be evaluated on the text that they are calibrated on',
    value: text.name,
    valid: 'another text',
    next: 'Calibrate on other text, or say --allow-evaluation-text.',
    where: { field: 'text' },
  });
}
