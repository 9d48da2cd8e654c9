/** What config.json of well-known models says about attention, as published. */

export const LLAMA_3_1_8B = {
  model_type: 'llama',
  num_hidden_layers: 32,
  num_attention_heads: 32,
  num_key_value_heads: 8,
  hidden_size: 4096,
  max_position_embeddings: 131072,
};

/** Has a window, switched off. */
export const QWEN_2_5_7B = {
  model_type: 'qwen2',
  num_hidden_layers: 28,
  num_attention_heads: 28,
  num_key_value_heads: 4,
  hidden_size: 3584,
  max_position_embeddings: 32768,
  max_window_layers: 28,
  sliding_window: 131072,
  use_sliding_window: false,
};

/** Every second layer slides, which only the type says; heads times head dim is not the hidden size. */
export const GEMMA_2_9B = {
  model_type: 'gemma2',
  num_hidden_layers: 42,
  num_attention_heads: 16,
  num_key_value_heads: 8,
  head_dim: 256,
  hidden_size: 3584,
  max_position_embeddings: 8192,
  sliding_window: 4096,
};

/** v0.1: every layer slides. */
export const MISTRAL_7B = {
  model_type: 'mistral',
  num_hidden_layers: 32,
  num_attention_heads: 32,
  num_key_value_heads: 8,
  hidden_size: 4096,
  max_position_embeddings: 32768,
  sliding_window: 4096,
};
