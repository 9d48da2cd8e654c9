/**
 * The attention geometry of a model: what a scheme is planned against.
 */
import * as z from 'zod';
import { LowbitKvError } from './errors.js';
import { parseOrThrow } from './validate.js';

const positive = z.int().min(1);
/** Far beyond any model: work and memory of a plan grow with them, and files that are damaged say anything. */
const LIMITS = { layers: 1024, heads: 65_536, kvHeads: 4096, headDim: 65_536 } as const;
const DEFAULT_ROTARY_BASE = 10_000;
const next = 'Take the numbers from the config.json of the model.';
const slidingWindow = z.strictObject({ size: positive, sinks: z.int().min(0) });
const rotary = z.strictObject({
  pairs: z.literal(['halves', 'adjacent']),
  base: z.number().positive().optional(),
  dimensions: positive.optional(),
  frequencies: z.array(z.number()).min(1).optional(),
});

const layerFields = {
  queryHeads: positive.max(LIMITS.heads),
  kvHeads: positive.max(LIMITS.kvHeads),
  keyHeadDim: positive.max(LIMITS.headDim),
  valueHeadDim: positive.max(LIMITS.headDim),
  scale: z.number().positive(),
  slidingWindow: slidingWindow.nullable(),
  softCap: z.number().positive().nullable(),
  rotary: rotary.nullable(),
};

const geometrySchema = z.strictObject({
  layers: positive.max(LIMITS.layers),
  ...layerFields,
  scale: layerFields.scale.optional(),
  slidingWindow: layerFields.slidingWindow.optional(),
  softCap: layerFields.softCap.optional(),
  rotary: layerFields.rotary.optional(),
  layerOverrides: z
    .array(
      z.strictObject({
        layers: z.array(z.int()).min(1),
        ...z.strictObject(layerFields).partial().shape,
      }),
    )
    .optional(),
});

/**
 * At most 1024 layers, 65,536 query heads, 4096 kv heads and 65,536 channels of a head.
 * `queryHeads / kvHeads` query heads share a kv head. `scale` multiplies q.k (default 1 / sqrt(keyHeadDim)).
 * `slidingWindow` limits what attention sees to the first `sinks` and the newest `size` positions, the query's own
 * included. `softCap` c turns a scaled logit x into c tanh(x / c). `rotary` is the rotary embedding, for keys that are
 * cached before it: the first `dimensions` channels (default all of a key) turn in pairs, pair i at position p by the
 * angle p * frequency i, `frequencies` or base^(-2i / dimensions) (default base 10000). Layers may differ; negative layer
 * numbers count from the last, `null` switches a window, cap or embedding off.
 */
export type Geometry = z.input<typeof geometrySchema>;

/**
 * A rotary embedding over the first `2 * frequencies.length` channels of a head. Pair i is the channels
 * `(i, i + frequencies.length)` (`halves`) or `(2i, 2i + 1)` (`adjacent`); at position p, (a, b) becomes
 * (a cos - b sin, a sin + b cos) of the angle `p * frequencies[i]`.
 */
export interface RotaryEmbedding {
  readonly pairs: 'halves' | 'adjacent';
  readonly frequencies: readonly number[];
}

/** The geometry of one layer, every default filled in. */
export interface LayerGeometry {
  readonly queryHeads: number;
  readonly kvHeads: number;
  readonly keyHeadDim: number;
  readonly valueHeadDim: number;
  readonly scale: number;
  readonly slidingWindow: { readonly size: number; readonly sinks: number } | null;
  readonly softCap: number | null;
  /** In a plan: null unless the keys of the layer are cached before the rotary embedding. */
  readonly rotary: RotaryEmbedding | null;
}

/** One LayerGeometry per layer. Throws GEOMETRY_INVALID. */
export function resolveGeometry(geometry: Geometry): LayerGeometry[] {
  const parsed = parseOrThrow(geometrySchema, geometry, 'GEOMETRY_INVALID', 'geometry', next);
  const overrides = (parsed.layerOverrides ?? []).map(({ layers: numbers, ...fields }) => ({
    numbers: new Set(numbers.map((number) => layerNumber(number, parsed.layers))),
    fields: definedOnly(fields),
  }));
  const layers: LayerGeometry[] = [];
  for (let layer = 0; layer < parsed.layers; layer++) {
    const merged = { ...parsed };
    for (const { numbers, fields } of overrides)
      if (numbers.has(layer)) Object.assign(merged, fields);
    if (merged.queryHeads % merged.kvHeads !== 0) {
      throw new LowbitKvError('GEOMETRY_INVALID', {
        message: 'query heads must be a multiple of kv heads',
        value: { queryHeads: merged.queryHeads, kvHeads: merged.kvHeads },
        valid: `queryHeads a multiple of ${merged.kvHeads}`,
        next,
        where: { layer },
      });
    }
    layers.push({
      queryHeads: merged.queryHeads,
      kvHeads: merged.kvHeads,
      keyHeadDim: merged.keyHeadDim,
      valueHeadDim: merged.valueHeadDim,
      scale: merged.scale ?? 1 / Math.sqrt(merged.keyHeadDim),
      slidingWindow: merged.slidingWindow ?? null,
      softCap: merged.softCap ?? null,
      rotary: resolveRotary(merged.rotary ?? null, merged.keyHeadDim, layer),
    });
  }
  return layers;
}

/** Resolves a layer number that may count from the end. Throws GEOMETRY_INVALID. */
export function layerNumber(number: number, layers: number): number {
  const layer = number < 0 ? number + layers : number;
  if (layer < 0 || layer >= layers) {
    throw new LowbitKvError('GEOMETRY_INVALID', {
      message: 'no such layer',
      value: number,
      valid: `${-layers} to ${layers - 1}`,
      next: 'Correct the list of layers.',
    });
  }
  return layer;
}

function resolveRotary(
  given: z.infer<typeof rotary> | null,
  keyHeadDim: number,
  layer: number,
): RotaryEmbedding | null {
  if (given === null) return null;
  const { pairs, base, frequencies } = given;
  const refuse = (part: string, value: unknown, valid: string): never => {
    throw new LowbitKvError('GEOMETRY_INVALID', {
      message: `${part} of the rotary embedding does not fit`,
      value,
      valid,
      next,
      where: { layer, field: `rotary.${part}` },
    });
  };
  const dimensions =
    given.dimensions ?? (frequencies === undefined ? keyHeadDim : 2 * frequencies.length);
  if (dimensions % 2 !== 0 || dimensions > keyHeadDim)
    refuse('dimensions', dimensions, `an even number up to the head dim of keys, ${keyHeadDim}`);
  if (frequencies === undefined) {
    const frequency = (pair: number) => (base ?? DEFAULT_ROTARY_BASE) ** ((-2 * pair) / dimensions);
    return { pairs, frequencies: Array.from({ length: dimensions / 2 }, (_, i) => frequency(i)) };
  }
  if (base !== undefined) refuse('base', base, 'either a base or frequencies');
  if (frequencies.length !== dimensions / 2)
    refuse('frequencies', frequencies.length, `${dimensions / 2}, one per pair of channels`);
  return { pairs, frequencies };
}

function definedOnly(fields: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined));
}
