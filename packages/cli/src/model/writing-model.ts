/**
 * A model that writes: cut at its attention, or whole with its past injected.
 */
import type { Geometry, Plan } from '@lowbit-kv/core';
import {
  injectionNote,
  type ModelFiles,
  openCutDecoder,
  openInjectedDecoder,
  openInjectedRun,
  openTokenRun,
  type SessionSettings,
  type TokenRun,
  type TokenRunOptions,
} from '@lowbit-kv/model-onnx';
import type { AttentionChoice } from '../attention-choice.js';

export interface WritingModel {
  readonly geometry: Geometry;
  readonly fingerprint: string;
  readonly contextLimit: number | null;
  openRun(plan: Plan, options: TokenRunOptions): Promise<TokenRun>;
  /** How a text differs from one whose attention runs over the cache itself; null when it does not. */
  note(plan: Plan): string | null;
  dispose(): Promise<void>;
}

export async function openWritingModel(
  files: ModelFiles,
  attention: AttentionChoice,
  settings: SessionSettings,
): Promise<WritingModel> {
  if (attention === 'cut') {
    const decoder = await openCutDecoder(files, settings);
    const { geometry, fingerprint, contextLimit } = decoder;
    return {
      geometry,
      fingerprint,
      contextLimit,
      openRun: (plan, options) => openTokenRun(decoder, plan, options),
      note: () => null,
      dispose: () => decoder.dispose(),
    };
  }
  const decoder = await openInjectedDecoder(files, settings);
  const { geometry, fingerprint, contextLimit } = decoder;
  return {
    geometry,
    fingerprint,
    contextLimit,
    openRun: (plan, options) => openInjectedRun(decoder, plan, options),
    note: injectionNote,
    dispose: () => decoder.dispose(),
  };
}
