/**
 * The folder fixtures/tiny-decoder: a random decoder and a tokenizer as a hub has them, for programs that open a model by path.
 */
import { modelBytes } from './graph-writer.js';
import { tinyDecoder } from './tiny-decoders.js';
import { groupQuery } from './tiny-group-query.js';
import { byteLevelTokenizer } from './tiny-tokenizer.js';

const SIZES = {
  vocabulary: 262,
  layers: 2,
  hidden: 32,
  queryHeads: 4,
  kvHeads: 2,
  headDim: 32,
  positions: 512,
};

/** Bytes of each file, by its path in the folder. */
export function tinyFolderFiles(): Readonly<Record<string, Uint8Array>> {
  const { tokenizerJson, tokenizerConfig } = byteLevelTokenizer();
  const { model } = tinyDecoder(groupQuery(), { sizes: SIZES });
  return {
    'config.json': json({
      model_type: 'llama',
      num_hidden_layers: SIZES.layers,
      num_attention_heads: SIZES.queryHeads,
      num_key_value_heads: SIZES.kvHeads,
      head_dim: SIZES.headDim,
      hidden_size: SIZES.hidden,
      vocab_size: SIZES.vocabulary,
      max_position_embeddings: SIZES.positions,
    }),
    'tokenizer.json': json(tokenizerJson),
    'tokenizer_config.json': json(tokenizerConfig),
    'onnx/model.onnx': modelBytes(model),
  };
}

function json(value: unknown): Uint8Array {
  return new TextEncoder().encode(`${JSON.stringify(value)}\n`);
}
