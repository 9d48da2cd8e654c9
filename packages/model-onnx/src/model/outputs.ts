/**
 * What a decoder gives out.
 */
import { LowbitKvError } from '@lowbit-kv/core';
import type { ModelConfig } from './config.js';
import type { ModelInput } from './input-contract.js';

/** Name of the logits among the outputs. Throws MODEL_UNSUPPORTED. */
export function logitsOf(outputs: readonly { readonly name: string }[]): string {
  const names = outputs.map((output) => output.name);
  if (names.includes('logits')) return 'logits';
  throw new LowbitKvError('MODEL_UNSUPPORTED', {
    message: 'the model has no output of logits',
    value: names,
    valid: ['logits'],
    next: 'Export the model for text generation.',
  });
}

/** From the shape of the logits, else from the configuration. Throws MODEL_INVALID when neither says it. */
export function vocabularyOf(shape: ModelInput['shape'], config: ModelConfig): number {
  const size = shape?.[2] ?? null;
  const vocabulary =
    typeof size === 'number' && Number.isSafeInteger(size) && size > 0 ? size : config.vocab_size;
  if (vocabulary != null) return vocabulary;
  throw new LowbitKvError('MODEL_INVALID', {
    message: 'neither the model nor its configuration says how large the vocabulary is',
    value: { logits: shape, vocab_size: null },
    valid: 'vocab_size in config.json',
    next: 'Take the config.json that came with the model.',
  });
}
