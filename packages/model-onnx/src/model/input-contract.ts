/**
 * What decoders take besides their tokens, by name: masks, positions, the past. One sequence, no batch.
 */
import { LowbitKvError } from '@lowbit-kv/core';
import type { Dimension } from '../attention/graph-view.js';
import type { ModelConfig } from './config.js';
import { headDimOf } from './config.js';

/** As onnxruntime names element types. */
export type InputType = 'int64' | 'int32' | 'bool' | 'float32' | 'float16';

export interface ModelInput {
  readonly name: string;
  readonly type: string;
  /** Null when the model does not say. */
  readonly shape: readonly Dimension[] | null;
}

/** What onnxruntime makes a tensor of; f16 as bits. */
export interface Feed {
  readonly type: InputType;
  readonly data: BigInt64Array | Int32Array | Uint8Array | Float32Array | Uint16Array;
  readonly dims: readonly number[];
}

export interface InputStep {
  readonly tokens: readonly number[];
  /** Tokens that came before. */
  readonly position: number;
  /** 0 for padding, 1 for tokens, `position + tokens` of them; left out: no padding. */
  readonly mask?: readonly number[];
}

const F16_ONE = 0x3c00;

/** Values and dims by name. */
const INPUTS: Readonly<Record<string, (step: InputStep, input: ModelInput) => Numbers>> = {
  input_ids: ({ tokens }) => ({ values: tokens, dims: [1, tokens.length] }),
  attention_mask: (step) => {
    const values = maskOf(step);
    return { values, dims: [1, values.length] };
  },
  position_ids: (step) => {
    const values = positionsOf(step);
    return { values, dims: [1, values.length] };
  },
  cache_position: ({ tokens, position }) => ({
    values: tokens.map((_, i) => position + i),
    dims: [tokens.length],
  }),
  use_cache_branch: ({ position }) => ({ values: [position > 0 ? 1 : 0], dims: [1] }),
  num_logits_to_keep: allLogits,
  logits_to_keep: allLogits,
};

interface Numbers {
  readonly values: readonly number[];
  readonly dims: readonly number[];
}

/** Of everything but the past. Throws MODEL_UNSUPPORTED for an input that is not known: zeros would be silently wrong. */
export function feedOf(input: ModelInput, step: InputStep): Feed {
  const make = INPUTS[input.name];
  if (make === undefined) throw unknownInput(input);
  const { values, dims } = make(step, input);
  const rank = input.shape?.length;
  if (rank !== undefined && rank !== dims.length) throw unknownInput(input);
  return { ...typed(input, values), dims };
}

/** Whether the input is one of a cache of keys or values: `past_key_values.0.key`, of four dimensions. */
export function isPast(input: ModelInput): boolean {
  return /^past|cache/.test(input.name) && /^float/.test(input.type) && input.shape?.length === 4;
}

/** `[1, heads, past, headDim]` as declared, the configuration's numbers where dimensions are dynamic. */
export function pastDims(input: ModelInput, past: number, config: ModelConfig): number[] {
  const [, heads, , headDim] = input.shape ?? [];
  const ofConfig = [config.num_key_value_heads ?? config.num_attention_heads, headDimOf(config)];
  const known = [heads, headDim].map((dim, i) => (typeof dim === 'number' ? dim : ofConfig[i]));
  const [kvHeads, channels] = known;
  if (kvHeads == null || channels == null) throw unknownInput(input);
  return [1, kvHeads, past, channels];
}

export function unknownInput(input: ModelInput): LowbitKvError {
  return new LowbitKvError('MODEL_UNSUPPORTED', {
    message: `the model has an input that is not known: ${input.name}`,
    value: { name: input.name, type: input.type, shape: input.shape },
    valid: [...Object.keys(INPUTS), 'past_key_values.N.key', 'past_key_values.N.value'],
    next: 'Export the decoder as a text-generation model with past, without further inputs.',
  });
}

function allLogits(_step: InputStep, { shape }: ModelInput): Numbers {
  return { values: [0], dims: shape?.length === 1 ? [1] : [] };
}

function maskOf({ tokens, position, mask }: InputStep): readonly number[] {
  return mask ?? Array(position + tokens.length).fill(1);
}

/** Positions count tokens, not padding; padding has 0. */
function positionsOf(step: InputStep): number[] {
  let seen = 0;
  const all = maskOf(step).map((entry) => {
    seen += entry;
    return Math.max(0, seen - 1);
  });
  return all.slice(step.position);
}

function typed(input: ModelInput, values: readonly number[]): Pick<Feed, 'type' | 'data'> {
  switch (input.type) {
    case 'int64':
      return { type: 'int64', data: BigInt64Array.from(values, BigInt) };
    case 'int32':
      return { type: 'int32', data: Int32Array.from(values) };
    case 'bool':
      return { type: 'bool', data: Uint8Array.from(values) };
    case 'float32':
      return { type: 'float32', data: Float32Array.from(values) };
    case 'float16':
      if (values.some((value) => value !== 0 && value !== 1)) throw unknownInput(input);
      return { type: 'float16', data: Uint16Array.from(values, (value) => value * F16_ONE) };
    default:
      throw unknownInput(input);
  }
}
