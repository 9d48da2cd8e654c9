/**
 * The transforms of a tensor as the numbers of kernels/general-tensor.cuh.
 */
import {
  calibratedNumbers,
  isMeasured,
  type MeasuredTransform,
  rotationSigns,
  type TensorPlan,
  type Transform,
  transformsOf,
} from '@lowbit-kv/core';
import { GENERAL_TRANSFORM, MEASURE_RULES, NO_PLANE, TRANSFORM_KINDS } from './structs.js';
import type { TableWriter } from './table-writer.js';

export function writeTransforms(plan: TensorPlan, table: TableWriter): void {
  let plane = 0;
  for (const [i, transform] of transformsOf(plan).entries()) {
    const view = table.transform(i);
    const { fields } = GENERAL_TRANSFORM;
    const set = (field: 'kind' | 'plane' | 'packing' | 'attention' | 'rule', value: number) =>
      view.setUint32(fields[field], value, true);
    set('kind', kindOf(transform));
    if (isMeasured(transform)) {
      set('plane', plane++);
      set('rule', MEASURE_RULES.indexOf(transform.kind));
      view.setFloat32(fields.limit, limitOf(transform), true);
      if (transform.kind === 'channelScale')
        for (const [j, field] of (['lowest', 'highest'] as const).entries())
          view.setFloat64(fields[field], (transform.clamp[j] as number) ** 2, true);
      continue;
    }
    const { packing, attention } = placesOf(transform, plan, table);
    set('plane', NO_PLANE);
    set('packing', packing);
    set('attention', attention);
  }
}

function kindOf({ kind }: Transform): number {
  const names = {
    tensorScale: 'scale',
    channelScale: 'scale',
    channelMean: 'mean',
    channelOrder: 'order',
    hadamard: 'hadamard',
  } as const;
  return TRANSFORM_KINDS.indexOf(names[kind]);
}

function limitOf(transform: MeasuredTransform): number {
  if (transform.kind === 'tensorScale') return transform.largest;
  if (transform.kind === 'channelScale') return transform.minimumSpread;
  return transform.minimumOffset ?? 0;
}

/** First words of what packing and what attention take from the table. */
function placesOf(
  transform: Exclude<Transform, MeasuredTransform>,
  plan: TensorPlan,
  table: TableWriter,
): { readonly packing: number; readonly attention: number } {
  if (transform.kind === 'hadamard') {
    const first = table.put(negatedChannels(transform.seed, plan.headDim));
    return { packing: first, attention: first };
  }
  const numbers = calibratedNumbers(transform, plan);
  const packing = table.put(numbers.packing);
  const isSame = numbers.attention === numbers.packing;
  return { packing, attention: isSame ? packing : table.put(numbers.attention) };
}

/** A bit per channel. */
function negatedChannels(seed: number | undefined, headDim: number): Uint32Array {
  const words = new Uint32Array(Math.ceil(headDim / 32));
  if (seed === undefined) return words;
  for (const [channel, sign] of rotationSigns(seed, headDim).entries())
    if (sign < 0) words[channel >> 5] = (words[channel >> 5] as number) | (1 << (channel & 31));
  return words;
}
