/**
 * A sequence whose past lies in a cache under a plan, and whose steps the unchanged decoder runs.
 *
 * A step reads every layer of the cache, dequantized; the decoder attends to that past and, in its own precision, to the
 * step's own tokens; their keys and values are appended afterwards, and what packs in a step packs then. Compared with
 * attention over the cache itself:
 *
 * - `packing: 'after-attention'`: a step meets the same stored numbers, packed ones rounded to f16 where the model's past is
 *   f16. Its own tokens are not rounded to f16 where the model computes in more. A step of many tokens attends to itself
 *   unpacked in both.
 * - `packing: 'before-attention'`: tokens that a step packs, among them its own where the window keeps none, are met unpacked
 *   in that step and packed from the next one on. The keys and values of a step exist only after its attention.
 *
 * `injectionNote` says so in a report.
 */
import {
  type Cache,
  createCache,
  f32Tensor,
  LowbitKvError,
  modelLayers,
  type Plan,
  type Sequence,
} from '@lowbit-kv/core';
import type { TokenRunOptions } from '../generate/token-run.js';
import type { InjectedDecoder, InjectedForward } from './injected-decoder.js';
import type { LayerRows, TokenRows } from './token-rows.js';

/** Throws PLAN_REFUSED for plans of another model or of keys before the rotary embedding, and what `createCache` throws. */
export async function openInjectedCache(
  decoder: InjectedDecoder,
  plan: Plan,
  { backend, tokens, allowEmulation = false }: TokenRunOptions,
): Promise<Cache> {
  requirePlanOf(decoder, plan);
  return createCache(plan, backend, { capacity: { tokens }, allowEmulation });
}

/** Runs new tokens in one step of the cache; gives their keys and values. When it fails, the sequence is as it was. */
export async function injectedStep(
  decoder: InjectedDecoder,
  cache: Cache,
  sequence: Sequence,
  tokens: readonly number[],
  options: InjectedForward,
): Promise<TokenRows> {
  const past = await readPast(decoder, cache, sequence);
  const step = cache.step([{ sequence, tokens: tokens.length }]);
  try {
    const made = await decoder.forward(tokens, past, options);
    for (const [layer, { geometry }] of decoder.layers.entries()) {
      const { kvHeads, keyHeadDim, valueHeadDim } = geometry;
      const { key, value } = made.layers[layer] as LayerRows;
      step.append(
        layer,
        f32Tensor(key, [tokens.length, kvHeads, keyHeadDim]),
        f32Tensor(value, [tokens.length, kvHeads, valueHeadDim]),
      );
    }
    await step.commit();
    return made;
  } finally {
    step.abandon();
  }
}

/** Every layer as the cache holds it, dequantized. */
export async function readPast(
  { layers }: Pick<InjectedDecoder, 'layers'>,
  cache: Cache,
  sequence: Sequence,
): Promise<TokenRows> {
  const rows: LayerRows[] = [];
  for (const layer of layers.keys()) {
    const { key, value } = await cache.materialize(sequence, layer);
    rows.push({ key: key.data as Float32Array, value: value.data as Float32Array });
  }
  return { tokens: sequence.length, layers: rows };
}

/** For reports: how a plan evaluated or run by injection differs from attention over the cache itself. */
export function injectionNote({ classes }: Plan): string {
  const early = classes.some(({ packing, flush }) => packing === 'before-attention' && flush > 0);
  return [
    'Past injection: the model runs unchanged over its dequantized past, step by step: slow.',
    "A step meets its own tokens in the model's precision.",
    ...(early
      ? [
          'The scheme packs before attention; here tokens are met packed from the step after that on, one later than it says.',
        ]
      : []),
  ].join(' ');
}

function requirePlanOf({ layers }: Pick<InjectedDecoder, 'layers'>, plan: Plan): void {
  const planned = modelLayers(plan);
  const sizes = (all: readonly Pick<(typeof planned)[number], 'geometry'>[]) =>
    all.map(({ geometry: { kvHeads, keyHeadDim, valueHeadDim } }) => [
      kvHeads,
      keyHeadDim,
      valueHeadDim,
    ]);
  if (JSON.stringify(sizes(planned)) !== JSON.stringify(sizes(layers)))
    throw refused('the plan is for another model', sizes(planned), sizes(layers), {});
  for (const { layer, geometry, units } of planned) {
    if (geometry.slidingWindow !== null)
      throw refused(
        'the plan drops tokens outside a sliding window, which the model is to mask itself',
        geometry.slidingWindow,
        'the geometry of the opened decoder',
        { layer },
      );
    const rotatedLater = units.some(
      ({ plan: { key } }) => key.scheme.bits !== 16 && key.scheme.stage === 'pre-rope',
    );
    if (rotatedLater)
      throw refused(
        'the scheme stores keys before the rotary embedding, and a past holds rotated ones',
        plan.scheme.id,
        'a scheme that stores rotated keys',
        { layer },
      );
  }
}

function refused(
  message: string,
  value: unknown,
  valid: string | readonly unknown[],
  where: { readonly layer?: number },
): LowbitKvError {
  return new LowbitKvError('PLAN_REFUSED', {
    message,
    value,
    valid,
    next: 'Plan another scheme with the geometry of this decoder, or cut the model at its attention.',
    where,
  });
}
