/**
 * The attention geometry that a Hugging Face config.json describes.
 */
import { readFile } from 'node:fs/promises';
import { type Geometry, LowbitKvError, resolveGeometry } from '@lowbit-kv/core';

type Config = Readonly<Record<string, unknown>>;

export interface ConfigGeometry {
  readonly geometry: Geometry;
  /** `max_position_embeddings`, or null when the file does not say. */
  readonly maxPositions: number | null;
}

/** Throws MODEL_INVALID for what is missing or malformed, GEOMETRY_INVALID for numbers that do not fit, MODEL_UNSUPPORTED for caches that are not keys and values. */
export async function readConfigGeometry(path: string): Promise<ConfigGeometry> {
  let content: unknown;
  try {
    content = JSON.parse(await readFile(path, 'utf8'));
  } catch (cause) {
    throw new LowbitKvError('MODEL_INVALID', {
      message: 'the config.json cannot be read',
      value: cause instanceof Error ? cause.message : String(cause),
      valid: 'the config.json of a model, as JSON',
      next: 'Check the path and the content.',
      where: { file: path },
      cause,
    });
  }
  return configGeometry(content, path);
}

/** As `readConfigGeometry`; models of several parts have the numbers of the decoder in `text_config`. */
export function configGeometry(content: unknown, file: string): ConfigGeometry {
  if (!isObject(content)) throw refused(file, 'the file', content, 'a JSON object');
  const config = isObject(content.text_config) ? { ...content, ...content.text_config } : content;
  refuseCompressed(config, file);
  const layers = required(config, 'num_hidden_layers', file);
  const queryHeads = required(config, 'num_attention_heads', file);
  // As Transformers reads it: without the field every query head has keys and values of its own.
  const kvHeads = optional(config, 'num_key_value_heads', file) ?? queryHeads;
  const headDim = optional(config, 'head_dim', file) ?? headDimOf(config, queryHeads, file);
  const shape = { layers, queryHeads, kvHeads, keyHeadDim: headDim, valueHeadDim: headDim };
  // Before anything is made of its size.
  resolveGeometry(shape);
  const size = optional(config, 'sliding_window', file);
  const sliding = slidingLayers(config, layers, size, file);
  return {
    geometry: {
      ...shape,
      ...(size === null || sliding.length === 0
        ? {}
        : { layerOverrides: [{ layers: sliding, slidingWindow: { size, sinks: 0 } }] }),
    },
    maxPositions: optional(config, 'max_position_embeddings', file),
  };
}

function headDimOf(config: Config, queryHeads: number, file: string): number {
  const hidden = optional(config, 'hidden_size', file);
  if (hidden === null)
    throw refused(file, 'head_dim', undefined, 'a positive integer, or hidden_size to divide');
  if (hidden % queryHeads !== 0)
    throw refused(file, 'hidden_size', hidden, `a multiple of ${queryHeads} attention heads`);
  return hidden / queryHeads;
}

/** Models of these types slide in every layer when they have a window and no list of layer types. */
const ALL_SLIDING = ['mistral', 'mixtral', 'phi3', 'starcoder2'];
/** Types whose files came without a list of layer types: every how many layers one is full. */
const FULL_EVERY = new Map([
  ['gemma2', 2],
  ['gemma3_text', 6],
  ['cohere2', 4],
]);

function slidingLayers(
  config: Config,
  layers: number,
  window: number | null,
  file: string,
): number[] {
  const all = Array.from({ length: layers }, (_, layer) => layer);
  const types = config.layer_types;
  if (types !== undefined && types !== null) {
    if (!Array.isArray(types) || types.length !== layers)
      throw refused(file, 'layer_types', types, `a list of ${layers} types, one per layer`);
    const other = types.find((t) => t !== 'full_attention' && t !== 'sliding_attention');
    if (other !== undefined) throw unsupported(file, 'layer_types', other);
    const sliding = all.filter((layer) => types[layer] === 'sliding_attention');
    if (sliding.length > 0 && window === null)
      throw refused(file, 'sliding_window', undefined, 'a positive integer for the sliding layers');
    return sliding;
  }
  if (window === null || config.use_sliding_window === false) return [];
  const type = String(config.model_type ?? '');
  const first = optional(config, 'max_window_layers', file);
  if (config.use_sliding_window === true && first !== null)
    return all.filter((layer) => layer >= first);
  const every = optional(config, 'sliding_window_pattern', file) ?? FULL_EVERY.get(type);
  if (every !== undefined) return all.filter((layer) => (layer + 1) % every !== 0);
  if (ALL_SLIDING.includes(type)) return all;
  throw refused(
    file,
    'layer_types',
    undefined,
    `which layers have the sliding window of ${window}; known without it: ${[...ALL_SLIDING, ...FULL_EVERY.keys()].join(', ')}`,
  );
}

/** What is cached there is one compressed vector per token, not keys and values of heads. */
function refuseCompressed(config: Config, file: string): void {
  if (config.kv_lora_rank !== undefined && config.kv_lora_rank !== null)
    throw unsupported(file, 'kv_lora_rank', config.kv_lora_rank);
}

function required(config: Config, field: string, file: string): number {
  const value = optional(config, field, file);
  if (value === null) throw refused(file, field, undefined, 'a positive integer');
  return value;
}

/** Null where the field is absent or null. */
function optional(config: Config, field: string, file: string): number | null {
  const value = config[field];
  if (value === undefined || value === null) return null;
  if (typeof value === 'number' && Number.isSafeInteger(value) && value > 0) return value;
  throw refused(file, field, value, 'a positive integer');
}

function isObject(value: unknown): value is Config {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function refused(file: string, field: string, value: unknown, valid: string): LowbitKvError {
  return new LowbitKvError('MODEL_INVALID', {
    message: value === undefined ? `config.json lacks ${field}` : `${field} is not valid`,
    value,
    valid,
    next: 'Take the config.json that came with the model, or describe the model with --geometry.',
    where: { file, field },
  });
}

function unsupported(file: string, field: string, value: unknown): LowbitKvError {
  return new LowbitKvError('MODEL_UNSUPPORTED', {
    message: 'a layer of this model does not cache keys and values of heads',
    value,
    valid: 'layers of full or sliding-window attention',
    next: 'Describe the layers that do with --geometry.',
    where: { file, field },
  });
}
