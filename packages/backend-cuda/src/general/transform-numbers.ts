/**
 * The transforms of a tensor as the numbers of kernels/general-tensor.cuh.
 */
import { rotationSigns, type TensorPlan, type Transform } from '@lowbit-kv/core';
import { GENERAL_TRANSFORM, MEASURE_RULES, NO_PLANE, TRANSFORM_KINDS } from './structs.js';
import type { TableWriter } from './table-writer.js';

export function transformsOf({ scheme }: TensorPlan): readonly Transform[] {
  return scheme.bits === 16 ? [] : (scheme.transforms ?? []);
}

export function writeTransforms(plan: TensorPlan, table: TableWriter): void {
  let plane = 0;
  for (const [i, transform] of transformsOf(plan).entries()) {
    const view = table.transform(i);
    const { fields } = GENERAL_TRANSFORM;
    const set = (field: 'kind' | 'plane' | 'packing' | 'attention' | 'rule', value: number) =>
      view.setUint32(fields[field], value, true);
    set('kind', kindOf(transform));
    if ('statisticsTokens' in transform) {
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

type MeasuredTransform = Extract<Transform, { statisticsTokens: number }>;

function limitOf(transform: MeasuredTransform): number {
  if (transform.kind === 'tensorScale') return transform.largest;
  if (transform.kind === 'channelScale') return transform.minimumSpread;
  return transform.minimumOffset ?? 0;
}

/** First words of what packing and what attention take from the table. */
function placesOf(
  transform: Exclude<Transform, MeasuredTransform>,
  { heads, headDim, calibration }: TensorPlan,
  table: TableWriter,
): { readonly packing: number; readonly attention: number } {
  const same = (numbers: Float32Array | Uint32Array) => {
    const first = table.put(numbers);
    return { packing: first, attention: first };
  };
  const scale = (factors: Float32Array) => ({
    packing: table.put(factors.map((factor) => 1 / factor)),
    attention: table.put(factors),
  });
  // The planner has checked that a calibration holds what the transforms take from it.
  const channels = (values: readonly (readonly number[])[] | undefined) =>
    (values as readonly (readonly number[])[]).flat();
  switch (transform.kind) {
    case 'hadamard':
      return same(negatedChannels(transform.seed, headDim));
    case 'tensorScale':
      return scale(new Float32Array(heads * headDim).fill(calibration?.tensorFactor as number));
    case 'channelScale':
      return scale(Float32Array.from(channels(calibration?.channelFactors)));
    case 'channelMean':
      return same(Float32Array.from(channels(calibration?.channelMeans)));
    case 'channelOrder':
      return same(Uint32Array.from(channels(calibration?.channelOrder)));
  }
}

/** A bit per channel. */
function negatedChannels(seed: number | undefined, headDim: number): Uint32Array {
  const words = new Uint32Array(Math.ceil(headDim / 32));
  if (seed === undefined) return words;
  for (const [channel, sign] of rotationSigns(seed, headDim).entries())
    if (sign < 0) words[channel >> 5] = (words[channel >> 5] as number) | (1 << (channel & 31));
  return words;
}
