/**
 * A model as an evaluation needs it: cut at its attention and seen through stress lenses beside the uncut one, or whole
 * with its past injected.
 */
import { availableParallelism } from 'node:os';
import { type Backend, LowbitKvError } from '@lowbit-kv/core';
import type { EvaluatedModel } from '@lowbit-kv/harness';
import {
  evaluatedModel,
  injectedModel,
  openInjectedDecoder,
  openUncut,
  parseStress,
  type SessionSettings,
  stressed,
} from '@lowbit-kv/model-onnx';
import type { AttentionChoice } from '../attention-choice.js';
import { ownVersion } from '../provenance.js';
import { openCutModel } from './cut-model.js';
import type { CalibratedModel } from './measure-calibrations.js';
import type { FoundModel } from './open-model.js';

export interface EvalModelOptions {
  readonly attention: AttentionChoice;
  readonly mode: 'replay' | 'decode';
  readonly stress?: readonly string[];
  readonly threads?: number;
  readonly allowEmulation?: boolean;
}

export interface EvalModel {
  readonly model: EvaluatedModel;
  /** What schemes can be calibrated on; null where the model does not show its keys and values. */
  readonly calibrated: CalibratedModel | null;
  /** What the figures depend on beside model, text and schemes. */
  readonly settings: Readonly<Record<string, string>>;
  dispose(): Promise<void>;
}

interface Inner {
  readonly backend: Backend;
  /** Longest window. */
  readonly tokens: number;
}

/** Throws MODEL_INVALID, MODEL_UNSUPPORTED, PEER_MISSING, BACKEND_UNAVAILABLE, OPTION_INVALID. */
export async function openEvalModel(
  found: FoundModel,
  inner: Inner,
  options: EvalModelOptions,
): Promise<EvalModel> {
  const { attention, threads, allowEmulation = false } = options;
  const session = threads === undefined ? {} : { threads };
  const open = attention === 'cut' ? openCut : openInjected;
  const opened = await open(found, { ...inner, allowEmulation }, session, options);
  return {
    ...opened,
    settings: {
      ...opened.settings,
      ...(allowEmulation && { allowEmulation: 'yes' }),
      version: ownVersion(),
      machine: `${process.platform} ${process.arch}, ${threads ?? availableParallelism()} threads, node ${process.version}`,
    },
  };
}

async function openCut(
  { name, files }: FoundModel,
  inner: Inner & { readonly allowEmulation: boolean },
  session: SessionSettings,
  { mode, stress = [] }: EvalModelOptions,
): Promise<EvalModel> {
  const lenses = stress.map(parseStress);
  const uncut = await openUncut(files, session);
  const cut = await openCutModel(files, session).catch(async (error: unknown) => {
    await uncut.dispose();
    throw error;
  });
  const decoder = stressed(cut.decoder, lenses);
  const { attention } = cut;
  const seen = lenses.length === 0 ? name : `${name} under ${stress.join(', ')}`;
  return {
    model: evaluatedModel({ name, decoder, attention, uncut: uncut.logits, mode, ...inner }),
    calibrated: { name: seen, decoder, attention },
    settings: { mode, ...(lenses.length > 0 && { stress: stress.join(', ') }) },
    async dispose() {
      await Promise.all([cut.dispose(), uncut.dispose()]);
    },
  };
}

async function openInjected(
  { name, files }: FoundModel,
  inner: Inner & { readonly allowEmulation: boolean },
  session: SessionSettings,
  { stress = [] }: EvalModelOptions,
): Promise<EvalModel> {
  if (stress.length > 0) {
    throw new LowbitKvError('OPTION_INVALID', {
      message:
        'stress lenses change what goes into attention, which past injection leaves to the model',
      value: stress,
      valid: 'stress lenses with --attention cut',
      next: 'Leave one of the two out.',
      where: { field: 'stress' },
    });
  }
  const decoder = await openInjectedDecoder(files, session);
  return {
    model: injectedModel({ name, decoder, ...inner }),
    calibrated: null,
    settings: {
      mode: 'decode',
      attention:
        'past-injection: the model runs unchanged over its dequantized past, a step per token; what a scheme packs before attention is met packed one step late',
    },
    dispose: () => decoder.dispose(),
  };
}
