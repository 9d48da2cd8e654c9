/**
 * A model as an evaluation needs it: cut at its attention, seen through stress lenses, beside the uncut one.
 */
import { availableParallelism } from 'node:os';
import type { Backend } from '@lowbit-kv/core';
import type { EvaluatedModel } from '@lowbit-kv/harness';
import {
  AttentionSessions,
  evaluatedModel,
  openCutDecoder,
  openUncut,
  parseStress,
  stressed,
} from '@lowbit-kv/model-onnx';
import { readOwnManifest } from '../manifest.js';
import type { CalibratedModel } from './measure-calibrations.js';
import type { FoundModel } from './open-model.js';

export interface EvalModelOptions {
  readonly mode: 'replay' | 'decode';
  readonly stress?: readonly string[];
  readonly threads?: number;
  readonly allowEmulation?: boolean;
}

export interface EvalModel {
  readonly model: EvaluatedModel;
  /** What schemes can be calibrated on. */
  readonly calibrated: CalibratedModel;
  /** What the figures depend on beside model, text and schemes. */
  readonly settings: Readonly<Record<string, string>>;
  dispose(): Promise<void>;
}

/** `tokens`: longest window. Throws MODEL_INVALID, MODEL_UNSUPPORTED, PEER_MISSING, BACKEND_UNAVAILABLE, OPTION_INVALID. */
export async function openEvalModel(
  { name, files }: FoundModel,
  backend: Backend,
  tokens: number,
  { mode, stress = [], threads, allowEmulation = false }: EvalModelOptions,
): Promise<EvalModel> {
  const lenses = stress.map(parseStress);
  const session = threads === undefined ? {} : { threads };
  const cut = await openCutDecoder(files, session);
  const uncut = await openUncut(files, session);
  const attention = await AttentionSessions.open(session);
  const decoder = stressed(cut, lenses);
  return {
    model: evaluatedModel({
      name,
      decoder,
      attention,
      uncut: uncut.logits,
      backend,
      tokens,
      mode,
      allowEmulation,
    }),
    calibrated: { name, decoder, attention },
    settings: {
      mode,
      ...(lenses.length > 0 && { stress: stress.join(', ') }),
      ...(allowEmulation && { allowEmulation: 'yes' }),
      version: `lowbit-kv ${readOwnManifest().version}`,
      machine: `${process.platform} ${process.arch}, ${threads ?? availableParallelism()} threads, node ${process.version}`,
    },
    async dispose() {
      await Promise.all([cut.dispose(), uncut.dispose(), attention.release()]);
    },
  };
}
