/**
 * Tells when a scheme was calibrated on the very tokens that it is evaluated on: its figures would flatter it.
 */
import { type Calibration, LowbitKvError } from '@lowbit-kv/core';

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
