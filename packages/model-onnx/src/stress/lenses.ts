/**
 * Stress lenses: exact changes of variables at the cut that turn a mild model into a hard one without changing what it
 * computes. f16 stays where it was, up to its rounding; which schemes survive shows which models they are for.
 */
import { type LayerGeometry, LowbitKvError } from '@lowbit-kv/core';
import { type Attend, type Decoder, type LayerTensors, layerGeometry } from '../decoder/decoder.js';
import { createRandom } from '../text/random.js';

/** What a lens does, by name. */
export const STRESS_LENSES = {
  'key-scale':
    'an eighth of the channel pairs of keys times the size, the same channels of queries divided',
  'key-mean':
    'a constant vector of up to the size per channel added to every key: softmax does not see it',
  'value-mean':
    'a constant vector of up to the size per channel added to every value, subtracted from the output',
} as const;

export interface StressLens {
  readonly kind: keyof typeof STRESS_LENSES;
  readonly size: number;
}

/** From `kind:size`, such as `key-mean:30`. Throws OPTION_INVALID. */
export function parseStress(text: string): StressLens {
  const [kind = '', amount = '', ...rest] = text.split(':');
  const size = Number(amount);
  if (
    Object.hasOwn(STRESS_LENSES, kind) &&
    rest.length === 0 &&
    amount !== '' &&
    size > 0 &&
    size <= 1000
  )
    return { kind: kind as StressLens['kind'], size };
  throw new LowbitKvError('OPTION_INVALID', {
    message: 'no such stress lens',
    value: text,
    valid: Object.entries(STRESS_LENSES).map(([name, does]) => `${name}:SIZE (${does})`),
    next: 'Name a lens and a size above 0 and up to 1000, for example key-scale:16.',
    where: { field: 'stress' },
  });
}

/**
 * The decoder seen through lenses, applied in order. Throws MODEL_UNSUPPORTED for `key-mean` where a soft cap would see
 * the constant.
 */
export function stressed(decoder: Decoder, lenses: readonly StressLens[]): Decoder {
  for (const lens of lenses) requireInvisible(decoder, lens);
  const through = (attend: Attend) =>
    lenses.reduceRight((inner, lens) => throughLens(decoder, lens, inner), attend);
  const { geometry, layers, vocabularySize, contextLimit, fingerprint } = decoder;
  return {
    geometry,
    layers,
    vocabularySize,
    contextLimit,
    fingerprint,
    forward: (tokens, options) =>
      decoder.forward(tokens, { ...options, attend: through(options.attend) }),
    dispose: () => decoder.dispose(),
  };
}

function throughLens({ layers }: Decoder, { kind, size }: StressLens, attend: Attend): Attend {
  return async (layer, tensors) => {
    const geometry = layerGeometry({ layers }, layer);
    const { kvHeads, queryHeads, keyHeadDim, valueHeadDim } = geometry;
    switch (kind) {
      case 'key-scale':
        return attend(layer, scaledKeys(tensors, geometry, size, layer));
      case 'key-mean': {
        const constant = constantVector(kvHeads * keyHeadDim, size, layer);
        const key = tensors.key.map((x, i) => x + (constant[i % constant.length] as number));
        // Before the embedding the constant would turn with the position.
        return attend(layer, { ...tensors, key, keyPreRope: null });
      }
      case 'value-mean': {
        const constant = constantVector(kvHeads * valueHeadDim, size, layer);
        const value = tensors.value.map((x, i) => x + (constant[i % constant.length] as number));
        const output = await attend(layer, { ...tensors, value });
        const group = queryHeads / kvHeads;
        return output.map((x, i) => {
          const head = Math.floor(i / valueHeadDim) % queryHeads;
          const kvHead = Math.floor(head / group);
          return x - (constant[kvHead * valueHeadDim + (i % valueHeadDim)] as number);
        });
      }
    }
  };
}

/** Pairs turn together, so that the rotary embedding commutes with the scale. */
function scaledKeys(
  tensors: LayerTensors,
  { keyHeadDim, rotary }: LayerGeometry,
  size: number,
  layer: number,
): LayerTensors {
  const random = createRandom(layer);
  const factors = new Float64Array(keyHeadDim).fill(1);
  const count = rotary?.frequencies.length ?? keyHeadDim / 2;
  const [step, apart] = rotary?.pairs === 'adjacent' ? [2, 1] : [1, count];
  const chosen = Math.max(1, Math.floor(count / 8));
  const first = Math.floor(random() * count);
  for (let i = 0; i < chosen; i++) {
    const channel = ((first + i * Math.floor(count / chosen)) % count) * step;
    factors[channel] = size;
    factors[channel + apart] = size;
  }
  const inverse = factors.map((factor) => 1 / factor);
  const scaled = (rows: Float32Array, by: Float64Array) =>
    rows.map((x, i) => x * (by[i % keyHeadDim] as number));
  const { query, key, keyPreRope } = tensors;
  return {
    ...tensors,
    query: scaled(query, inverse),
    key: scaled(key, factors),
    keyPreRope: keyPreRope === null ? null : scaled(keyPreRope, factors),
  };
}

function constantVector(length: number, size: number, layer: number): Float32Array {
  const random = createRandom(layer + 1);
  return Float32Array.from({ length }, () => (2 * random() - 1) * size);
}

function requireInvisible({ layers }: Decoder, { kind }: StressLens): void {
  if (kind !== 'key-mean') return;
  const layer = layers.findIndex(({ geometry }) => geometry.softCap !== null);
  if (layer < 0) return;
  throw new LowbitKvError('MODEL_UNSUPPORTED', {
    message: 'a soft cap sees a constant added to keys, so key-mean would change the model',
    value: kind,
    valid: ['key-scale', 'value-mean'],
    next: 'Choose another lens for this model.',
    where: { layer },
  });
}
