/**
 * Tells when a scheme was calibrated on the very tokens that it is evaluated on, where its figures would flatter it, or on
 * another model.
 */
import { type Calibration, LowbitKvError } from '@lowbit-kv/core';
import type { Terminal } from '../terminal.js';

export interface EvaluatedTokens {
  readonly textSha256: string;
  /** From the first token of the text on. */
  readonly tokens: number;
}

/** Throws OPTION_INVALID for calibrations over tokens of the evaluated windows, by what their provenance says. */
export function refuseOverlap(
  calibrations: Readonly<Record<string, Calibration>>,
  { textSha256, tokens }: EvaluatedTokens,
): void {
  for (const [id, { provenance }] of Object.entries(calibrations)) {
    const { textSha256: text, firstToken = '0' } = provenance;
    if (text !== textSha256 || Number(firstToken) >= tokens) continue;
    throw new LowbitKvError('OPTION_INVALID', {
      message: `${id} was calibrated on tokens that it would be evaluated on`,
      value: `tokens from ${firstToken} on of ${provenance.text ?? text}`,
      valid: `a calibration on another text, or on its tokens from ${tokens} on`,
      next: 'Calibrate again on held-out text, or say --allow-calibrated-text.',
      where: { field: 'calibration' },
    });
  }
}

/** A model and its quantized form have different files, so this is no error. */
export function noteOtherModels(
  terminal: Terminal,
  calibrations: Readonly<Record<string, Calibration>>,
  modelFingerprint: string,
): void {
  for (const [id, { provenance }] of Object.entries(calibrations)) {
    const { modelFingerprint: other, model = other } = provenance;
    if (other === undefined || other === modelFingerprint) continue;
    terminal.note(`${id} was calibrated on another model file: ${model} (${other.slice(0, 12)})`);
  }
}
