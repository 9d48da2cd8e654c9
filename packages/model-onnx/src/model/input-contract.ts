/**
 * What decoders take besides their tokens, by name: masks, positions, the past. One sequence, no batch.
 */
import { LowbitKvError } from '@lowbit-kv/core';
import type { Dimension } from '../attention/graph-view.js';
import type { ModelConfig } from './config.js';
import { dimsOf, layoutOf } from './past-layout.js';

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
  /** Tokens that came before, padding among them. */
  readonly position: number;
  /** 0 for padding, 1 for tokens: `position + tokens` entries or, of a fixed cache, more; left out: no padding. */
  readonly mask?: readonly number[];
  /** What `attention_mask` is about. Default `all`. */
  readonly masked?: 'all' | 'new';
}

const F16_ONE = 0x3c00;

type MakeInput = (step: InputStep, input: ModelInput) => Numbers;

/** Values and dims by name. */
const INPUTS: ReadonlyMap<string, MakeInput> = new Map(
  Object.entries<MakeInput>({
    input_ids: ({ tokens }) => ({ values: tokens, dims: [1, tokens.length] }),
    attention_mask: (step) => {
      const all = maskOf(step);
      const values = step.masked === 'new' ? newOf(step, all) : all;
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
    num_logits_to_keep: single(() => 0),
    logits_to_keep: single(() => 0),
    past_sequence_length: single(({ position }) => position),
    past_seq_len: single(({ position }) => position),
    total_sequence_length: single(totalOf),
    total_seq_len: single(totalOf),
    // Of GroupQueryAttention: one less than the total.
    seqlens_k: single((step) => totalOf(step) - 1),
  }),
);

interface Numbers {
  readonly values: readonly number[];
  readonly dims: readonly number[];
}

/** Of everything but the past. Throws MODEL_UNSUPPORTED for an input that is not known: zeros would be silently wrong. */
export function feedOf(input: ModelInput, step: InputStep): Feed {
  const make = INPUTS.get(input.name);
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

/** In the layout of the input; the configuration's numbers where dimensions are open. Throws MODEL_UNSUPPORTED. */
export function pastDims(input: ModelInput, past: number, config: ModelConfig): number[] {
  return dimsOf(layoutOf(input, config), past);
}

export function unknownInput(input: ModelInput): LowbitKvError {
  return new LowbitKvError('MODEL_UNSUPPORTED', {
    message: `the model has an input that is not known: ${input.name}`,
    value: { name: input.name, type: input.type, shape: input.shape },
    valid: [...Object.keys(INPUTS), 'past_key_values.N.key', 'past_key_values.N.value'],
    next: 'Export the decoder as a text-generation model with past, without further inputs.',
  });
}

/** One number, of the rank that the model declares. */
function single(value: (step: InputStep) => number) {
  return (step: InputStep, { shape }: ModelInput): Numbers => ({
    values: [value(step)],
    dims: (shape ?? []).map(() => 1),
  });
}

function totalOf({ tokens, position }: InputStep): number {
  return position + tokens.length;
}

/** Entries of the new tokens. */
function newOf({ tokens, position }: InputStep, all: readonly number[]): readonly number[] {
  return all.slice(position, position + tokens.length);
}

function maskOf({ tokens, position, mask }: InputStep): readonly number[] {
  return mask ?? Array(position + tokens.length).fill(1);
}

/** Positions count tokens, not padding; padding has 0. */
function positionsOf(step: InputStep): readonly number[] {
  let seen = 0;
  const all = maskOf(step).map((entry) => {
    seen += entry;
    return Math.max(0, seen - 1);
  });
  return newOf(step, all);
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
