/**
 * Finds the cache among the inputs and outputs of a decoder: what takes the past, and what gives it back.
 */
import { LowbitKvError } from '@lowbit-kv/core';
import type { ModelConfig } from '../model/config.js';
import { type ModelInput, unknownInput } from '../model/input-contract.js';
import { layoutOf, type PastLayout } from '../model/past-layout.js';

/** Keys or values of one layer in a tensor. */
export interface PastPart {
  readonly layer: number;
  readonly tensor: 'key' | 'value';
  /** Place on an axis that holds keys and values. */
  readonly pair: number;
}

/** An input of the past and the output that continues it. */
export interface PastTensor {
  readonly input: string;
  readonly output: string;
  readonly type: 'float32' | 'float16';
  readonly layout: PastLayout;
  /** One; two where keys and values lie in one tensor. */
  readonly parts: readonly PastPart[];
}

interface Signature {
  readonly inputs: readonly ModelInput[];
  readonly outputs: readonly ModelInput[];
}

/** Of self-attention, as Optimum, ONNX Runtime's tools and transformers' exporters write them. */
const NAMES: readonly RegExp[] = [
  /^past(?:_key_values)?[._](?<layer>\d+)[._](?:(?:decoder|self)[._])?(?<tensor>key|value)$/,
  /^past_(?<tensor>key|value)(?:_self)?_(?<layer>\d+)$/,
  /^past_(?<layer>\d+)$/,
];

const VALID_NAMES = [
  'past_key_values.N.key',
  'past_key_values.N.decoder.key',
  'past.N.key',
  'past_key_N',
  'past_N with keys and values on its first axis',
];

/** In order of the layers, keys first. Throws MODEL_UNSUPPORTED for a decoder whose cache cannot be told from its names. */
export function findPastTensors(signature: Signature, config: ModelConfig): PastTensor[] {
  const tensors = signature.inputs.flatMap((input) => {
    const name = partsOf(input);
    return name === null ? [] : [pastTensor(input, name, signature.outputs, config)];
  });
  requireAllLayers(tensors, signature.inputs);
  const order = ({ parts: [part] }: PastTensor) =>
    2 * (part?.layer ?? 0) + (part?.tensor === 'value' ? 1 : 0);
  return tensors.sort((a, b) => order(a) - order(b));
}

/** Null for an input that is none of a past. */
function partsOf({ name, shape }: ModelInput): PastPart[] | null {
  for (const pattern of NAMES) {
    const groups = pattern.exec(name)?.groups;
    if (groups === undefined) continue;
    const layer = Number(groups.layer);
    const { tensor } = groups;
    if (tensor === 'key' || tensor === 'value') return [{ layer, tensor, pair: 0 }];
    if (shape?.length !== 5) return null;
    return [
      { layer, tensor: 'key', pair: 0 },
      { layer, tensor: 'value', pair: 1 },
    ];
  }
  return null;
}

function pastTensor(
  input: ModelInput,
  parts: readonly PastPart[],
  outputs: readonly ModelInput[],
  config: ModelConfig,
): PastTensor {
  const { name, type } = input;
  if (type !== 'float32' && type !== 'float16') throw unknownInput(input);
  const layout = layoutOf(input, config);
  if (layout.axes.includes('pair') !== (parts.length === 2)) throw unknownInput(input);
  const presents = ['present', 'present_key_values'].map((present) =>
    name.replace(/^past(_key_values)?/, present),
  );
  const output = outputs.find((candidate) => presents.includes(candidate.name));
  if (output === undefined)
    throw refused(
      `nothing gives back what ${name} takes`,
      outputs.map((o) => o.name),
      presents,
    );
  if (output.type !== type)
    throw refused(`${output.name} does not have the type of ${name}`, output.type, [type]);
  return { input: name, output: output.name, type, layout, parts };
}

/** Keys and values of layers 0 to n - 1, each once. */
function requireAllLayers(tensors: readonly PastTensor[], inputs: readonly ModelInput[]): void {
  const names = inputs.map((input) => input.name);
  if (tensors.length === 0) throw refused('the model has no inputs of a past', names, VALID_NAMES);
  const parts = tensors.flatMap((tensor) => tensor.parts);
  const found = new Set(parts.map(({ layer, tensor }) => `${tensor} of layer ${layer}`));
  const missing = Array.from({ length: Math.ceil(parts.length / 2) }, (_, layer) =>
    ['key', 'value'].map((tensor) => `${tensor} of layer ${layer}`),
  )
    .flat()
    .filter((part) => !found.has(part));
  if (missing.length > 0 || found.size !== parts.length)
    throw refused(
      `the past of the model is not complete: ${missing.join(', ') || 'a part comes twice'}`,
      names,
      VALID_NAMES,
    );
}

function refused(message: string, value: unknown, valid: readonly string[]): LowbitKvError {
  return new LowbitKvError('MODEL_UNSUPPORTED', {
    message,
    value,
    valid,
    next: 'Export the decoder for text generation with past.',
  });
}
