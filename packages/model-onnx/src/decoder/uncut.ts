/**
 * A decoder as it came, in one run: what a cut one is compared with.
 */
import { decodeF16 } from '@lowbit-kv/core';
import { feedOf, isPast } from '../model/input-contract.js';
import type { ModelFiles } from '../model/model-files.js';
import { logitsOf, vocabularyOf } from '../model/outputs.js';
import { PastZeros } from '../model/past-zeros.js';
import {
  loadWholeModel,
  type ModelSession,
  type SessionSettings,
  type SessionTensor,
} from '../model/session.js';
import type { OnLogits } from './decoder.js';
import { checkTokens, floatsOf } from './forward-checks.js';

export interface UncutDecoder {
  /** All logits of a window from an empty past. Throws OPTION_INVALID, MODEL_UNSUPPORTED, BACKEND_FAILED. */
  logits(tokens: readonly number[], onLogits: OnLogits): Promise<void>;
  dispose(): Promise<void>;
}

/** Throws MODEL_INVALID, MODEL_UNSUPPORTED, PEER_MISSING, BACKEND_UNAVAILABLE. */
export async function openUncut(
  files: ModelFiles,
  settings: SessionSettings = {},
): Promise<UncutDecoder> {
  const session = await loadWholeModel(files, settings);
  const zeros = new PastZeros(files.config);
  const contextLimit = files.config.max_position_embeddings ?? null;
  const { name, vocabularySize } = await describedOutput(session, files);
  return {
    async logits(tokens, onLogits) {
      checkTokens(tokens, 0, { vocabularySize, contextLimit });
      const feeds = session.inputs.map((input) => {
        const feed = isPast(input) ? zeros.feed(input, 0) : feedOf(input, { tokens, position: 0 });
        return [input.name, feed] as const;
      });
      const outputs = await session.run(Object.fromEntries(feeds), [name]);
      const result = outputs[name];
      if (result === undefined) throw new TypeError('onnxruntime gives what it is asked for');
      onLogits(0, floatsOf(widened(result), tokens.length * vocabularySize, name));
    },
    dispose: () => session.release(),
  };
}

/** Releases the session of a model whose logits are not found. */
async function describedOutput(session: ModelSession, { config }: ModelFiles) {
  try {
    const name = logitsOf(session.outputs);
    const shape = session.outputs.find((output) => output.name === name)?.shape ?? null;
    return { name, vocabularySize: vocabularyOf(shape, config) };
  } catch (error) {
    await session.release();
    throw error;
  }
}

/** onnxruntime gives f16 as bits, or as a Float16Array where Node has one. */
export function widened({ data, dims }: SessionTensor): Omit<SessionTensor, 'type'> {
  if (data instanceof Uint16Array) return { data: decodeF16(data), dims };
  const isFloat = data instanceof Float32Array;
  return isFloat ? { data, dims } : { data: Float32Array.from(data as Iterable<number>), dims };
}
