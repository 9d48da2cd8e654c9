/** Keys, values and queries that are drawn: what makes quantization hard, with a slider for each cause. */
import { encodeF16 } from '@lowbit-kv/core';
import { createRandom } from '@lowbit-kv/core/testing';
import { geometryOf, type LayerTensors, layerOfBits } from '@lowbit-kv/harness/browser';
import { type Dataset, KEPT_QUERIES } from './dataset.js';

export interface SyntheticRecipe {
  /** Channels of each kv head whose keys are larger than the others. */
  readonly outlierChannels: number;
  /** How much larger. */
  readonly outlierStrength: number;
  /** 0 is normal; each value is a normal one times exp(tails * another). */
  readonly tails: number;
  /** Root mean square of the channel means of keys. */
  readonly means: number;
  readonly seed: number;
}

export const RECIPE_RANGES: Readonly<
  Record<
    keyof SyntheticRecipe,
    { readonly min: number; readonly max: number; readonly step: number; readonly label: string }
  >
> = {
  outlierChannels: { min: 0, max: 12, step: 1, label: 'Outlier channels of each head' },
  outlierStrength: { min: 1, max: 20, step: 1, label: 'How many times larger they are' },
  tails: { min: 0, max: 1.5, step: 0.1, label: 'Heavy tails (0 is a normal distribution)' },
  means: { min: 0, max: 4, step: 0.5, label: 'Size of the channel means' },
  seed: { min: 1, max: 99, step: 1, label: 'Seed' },
};

const TOKENS = 768;
const HEAD_DIM = 64;
const SIZES = {
  ...{ queryHeads: 4, kvHeads: 2, keyHeadDim: HEAD_DIM, valueHeadDim: HEAD_DIM },
  ...{ tokens: TOKENS, queries: KEPT_QUERIES, stride: 1, scale: HEAD_DIM ** -0.5 },
};
const ROTARY = { reason: 'generated keys have no positions in them', value: 'synthetic' };
/** Share of a token's own key in its query: attention has something to find. */
const SHARPNESS = 0.6;

export function syntheticData(recipe: SyntheticRecipe): Dataset {
  return {
    name: 'generated numbers',
    facts: [['shape', `${TOKENS} tokens, ${SIZES.kvHeads} kv heads, ${HEAD_DIM} channels`]],
    layers: [0],
    modelLayers: 1,
    sizes: SIZES,
    rotary: ROTARY,
    geometry: geometryOf({ sizes: SIZES, rotary: ROTARY }, 1),
    readLayer: async () => draw(recipe),
  };
}

function draw(recipe: SyntheticRecipe): LayerTensors {
  const normal = normals(recipe.seed);
  const heavy = () => normal() * Math.exp(recipe.tails * normal());
  const width = SIZES.kvHeads * HEAD_DIM;
  const spacing = HEAD_DIM / Math.max(1, recipe.outlierChannels);
  const isOutlier = (channel: number) =>
    Math.floor(channel / spacing) !== Math.floor((channel - 1) / spacing) &&
    recipe.outlierChannels > 0;
  const factors = Array.from({ length: width }, (_, i) =>
    isOutlier(i % HEAD_DIM) ? recipe.outlierStrength : 1,
  );
  const means = factors.map((factor) => recipe.means * normal() * Math.sqrt(factor));
  const key = Float32Array.from(
    { length: TOKENS * width },
    (_, i) => heavy() * (factors[i % width] as number) + (means[i % width] as number),
  );
  const value = Float32Array.from({ length: TOKENS * width }, heavy);
  const query = new Float32Array(SIZES.queries * SIZES.queryHeads * HEAD_DIM);
  const group = SIZES.queryHeads / SIZES.kvHeads;
  for (let row = 0; row < SIZES.queries; row++) {
    for (let head = 0; head < SIZES.queryHeads; head++) {
      const target = (row * 37 + head * 211) % (TOKENS - SIZES.queries);
      for (let c = 0; c < HEAD_DIM; c++) {
        const channel = Math.floor(head / group) * HEAD_DIM + c;
        const centred = (key[target * width + channel] as number) - (means[channel] as number);
        const size = factors[channel] as number;
        query[(row * SIZES.queryHeads + head) * HEAD_DIM + c] =
          (SHARPNESS * centred) / size / size + (0.4 * normal()) / size;
      }
    }
  }
  const bits = { key: encodeF16(clamped(key)), value: encodeF16(clamped(value)) };
  return layerOfBits(
    { index: 0, ...bits, query },
    {
      sizes: SIZES,
      rotary: ROTARY,
      file: 'generated numbers',
    },
  );
}

/** Heavy tails reach beyond f16. */
function clamped(values: Float32Array): Float32Array {
  return values.map((value) => Math.max(-60_000, Math.min(60_000, value)));
}

/** Box and Muller over a seeded generator. */
function normals(seed: number): () => number {
  const random = createRandom(seed);
  const unit = () => random(2 ** 24) / 2 ** 24;
  return () => Math.sqrt(-2 * Math.log(1 - unit())) * Math.cos(2 * Math.PI * unit());
}
