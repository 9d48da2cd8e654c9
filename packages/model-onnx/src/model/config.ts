/**
 * The numbers of a model's config.json that graphs do not say.
 */
import { parseOrThrow } from '@lowbit-kv/core';
import * as z from 'zod';

const count = z.int().min(1).nullish();

const fields = z.object({
  model_type: z.string().nullish(),
  num_hidden_layers: count,
  num_attention_heads: count,
  num_key_value_heads: count,
  head_dim: count,
  hidden_size: count,
  vocab_size: count,
  rope_theta: z.number().positive().nullish(),
  partial_rotary_factor: z.number().positive().nullish(),
  sliding_window: z.int().min(0).nullish(),
  max_position_embeddings: count,
});

const schema = fields.extend({ text_config: fields.nullish() });

/** Every number may be missing; unknown fields are ignored. */
export type ModelConfig = z.infer<typeof fields>;

/** Models of several parts have the numbers of the decoder in `text_config`. Throws MODEL_INVALID. */
export function parseModelConfig(value: unknown): ModelConfig {
  const { text_config: text, ...own } = parseOrThrow(
    schema,
    value,
    'MODEL_INVALID',
    'config.json',
    'Take the config.json that came with the model.',
  );
  return { ...own, ...text };
}

/** Channels of a head as far as the configuration says; null when it does not. */
export function headDimOf(config: ModelConfig): number | null {
  if (config.head_dim != null) return config.head_dim;
  const { hidden_size: hidden, num_attention_heads: heads } = config;
  return hidden == null || heads == null || hidden % heads !== 0 ? null : hidden / heads;
}
