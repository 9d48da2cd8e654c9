/**
 * A model folder as the hub has it, small enough to run in milliseconds: two layers of GroupQueryAttention with random
 * weights, a byte-level tokenizer and a chat template; and a text to run it over.
 */
import { mkdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { modelBytes } from '../../../model-onnx/test/support/graph-writer.js';
import { seededRandom } from '../../../model-onnx/test/support/random.js';
import { tinyDecoder } from '../../../model-onnx/test/support/tiny-decoders.js';
import { groupQuery } from '../../../model-onnx/test/support/tiny-group-query.js';
import { byteLevelTokenizer } from '../../../model-onnx/test/support/tiny-tokenizer.js';

/** 256 bytes, three merges, three special tokens. */
export const VOCABULARY = 262;
/** `<|eos|>`. */
export const EOS = 260;
export const CONTEXT = 2048;

const SIZES = {
  vocabulary: VOCABULARY,
  layers: 2,
  hidden: 64,
  queryHeads: 4,
  kvHeads: 2,
  headDim: 32,
};
export const TINY_HEADS = { query: SIZES.queryHeads, kv: SIZES.kvHeads, dim: SIZES.headDim };

const CONFIG = {
  model_type: 'tiny',
  num_attention_heads: SIZES.queryHeads,
  num_key_value_heads: SIZES.kvHeads,
  head_dim: SIZES.headDim,
  hidden_size: SIZES.hidden,
  vocab_size: VOCABULARY,
};

const CHAT_TEMPLATE =
  '{{ bos_token }}{% for message in messages %}<|turn|>{{ message.role }}: {{ message.content }}\n{% endfor %}{% if add_generation_prompt %}<|turn|>assistant:{% endif %}';

export type FolderFiles = Readonly<Record<string, string | Uint8Array>>;

/** Files by path in the folder. `chat`: with a chat template; `seed`: of the weights. */
export function tinyModelFiles({
  chat = true,
  context = CONTEXT,
  seed = 5,
  layers = SIZES.layers,
} = {}): FolderFiles {
  const { tokenizerJson, tokenizerConfig } = byteLevelTokenizer();
  const limits = { num_hidden_layers: layers, max_position_embeddings: context };
  return {
    'config.json': JSON.stringify({ ...CONFIG, ...limits }),
    'tokenizer.json': JSON.stringify(tokenizerJson),
    'tokenizer_config.json': JSON.stringify(tokenizerConfig),
    ...(chat && { 'chat_template.jinja': CHAT_TEMPLATE }),
    'onnx/model.onnx': decoderBytes(context, seed, layers),
  };
}

export async function writeFiles(folder: string, files: FolderFiles): Promise<void> {
  for (const [path, content] of Object.entries(files)) {
    await mkdir(dirname(join(folder, path)), { recursive: true });
    await writeFile(join(folder, path), content);
  }
}

function decoderBytes(positions: number, seed: number, layers: number): Uint8Array {
  const { model } = tinyDecoder(groupQuery({ bias: true }), {
    sizes: { ...SIZES, layers, positions },
    seed,
  });
  const head = model.graph?.initializer.find(({ name }) => name === 'head');
  if (head === undefined) throw new Error('tiny decoders have a head');
  const weights = new Float32Array(head.rawData.slice().buffer);
  for (let i = 0; i < weights.length; i++)
    weights[i] = isPlain(i % VOCABULARY) ? 3 * (weights[i] as number) : 0;
  head.rawData = new Uint8Array(weights.buffer);
  return modelBytes(model);
}

/** Printable ASCII: the likely tokens, so that what the model writes can be read. */
function isPlain(token: number): boolean {
  return token >= 32 && token < 127;
}

const WORDS =
  'the river ran low and café lamps burned while old boats slept – nobody came to that shore'.split(
    ' ',
  );

/** Some thousand characters, several bytes long some of them, in lines. */
export function tinyText(seed: number, lines = 100, lineEnd = '\r\n'): string {
  const random = seededRandom(seed);
  // Spread over -1.73 to 1.73.
  const word = () => WORDS[Math.floor(((random() + 1.74) / 3.48) * WORDS.length)];
  const line = () => `${Array.from({ length: 8 }, word).join(' ')}.`;
  return Array.from({ length: lines }, line).join(lineEnd);
}
