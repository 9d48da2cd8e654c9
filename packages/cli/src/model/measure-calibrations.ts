/**
 * Offline calibration measured on the model itself, over tokens of a text.
 */
import { type Calibration, createCalibration, type Scheme } from '@lowbit-kv/core';
import { calibrationStage } from '@lowbit-kv/harness';
import { type AttentionSessions, type Decoder, modelSamples } from '@lowbit-kv/model-onnx';
import { duration } from '../numbers-as-text.js';
import type { Terminal } from '../terminal.js';
import type { TextTokens } from './read-text.js';

/** Tokens of one run of the model, each from an empty past; fewer where the context of the model is shorter. */
const RUN_TOKENS = 1024;

export interface CalibrationText {
  readonly text: TextTokens;
  /** Of the first token, and how many. */
  readonly first: number;
  readonly tokens: number;
}

export interface CalibratedModel {
  readonly name: string;
  readonly decoder: Decoder;
  readonly attention: AttentionSessions;
}

/** Whether a calibration can be measured for a scheme that needs one. */
export function canCalibrate({ calibration, calibrate }: Scheme): boolean {
  return calibration.kind === 'offline' && calibrate !== undefined;
}

/** Throws what the scheme and the model throw, and the reason of an interruption. */
export async function measureCalibration(
  terminal: Terminal,
  { name, decoder, attention }: CalibratedModel,
  scheme: Scheme,
  { text, first, tokens }: CalibrationText,
): Promise<Calibration> {
  const part = text.tokens.slice(first, first + tokens);
  const runTokens = Math.min(RUN_TOKENS, decoder.contextLimit ?? RUN_TOKENS);
  const started = performance.now();
  const samples = modelSamples(decoder, attention, part, {
    runTokens,
    stage: calibrationStage(scheme),
    signal: terminal.interruption(),
    onRun: (run, runs) => {
      const done = Math.min(tokens, run * runTokens);
      const rate = done / ((performance.now() - started) / 1000);
      const left = duration((tokens - done) / rate);
      terminal.status(
        `calibrating ${scheme.id}: run ${run}/${runs}, ${rate.toFixed(0)} tokens/s, ${left} left`,
      );
    },
  });
  return createCalibration(scheme, samples, {
    model: name,
    modelFingerprint: decoder.fingerprint,
    text: text.name,
    textSha256: text.sha256,
    firstToken: String(first),
    tokens: String(tokens),
    runTokens: String(runTokens),
  });
}
