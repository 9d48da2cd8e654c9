/**
 * The attention geometry of a model: what a scheme is planned against.
 */
import * as z from 'zod';
import { LowbitKvError } from './errors.js';
import { parseOrThrow } from './validate.js';

const positive = z.int().min(1);
const slidingWindow = z.strictObject({ size: positive, sinks: z.int().min(0) });

const layerFields = {
  queryHeads: positive,
  kvHeads: positive,
  keyHeadDim: positive,
  valueHeadDim: positive,
  scale: z.number().positive(),
  slidingWindow: slidingWindow.nullable(),
  softCap: z.number().positive().nullable(),
};

const geometrySchema = z.strictObject({
  layers: positive,
  ...layerFields,
  scale: layerFields.scale.optional(),
  slidingWindow: layerFields.slidingWindow.optional(),
  softCap: layerFields.softCap.optional(),
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
 * `queryHeads / kvHeads` query heads share a kv head. `scale` multiplies q.k (default 1 / sqrt(keyHeadDim)).
 * `slidingWindow` limits what attention sees to the first `sinks` and the newest `size` positions, the query's own
 * included. `softCap` c turns a scaled logit x into c tanh(x / c). Layers may differ; negative layer numbers count from
 * the last, `null` switches a window or cap off.
 */
export type Geometry = z.input<typeof geometrySchema>;

/** The geometry of one layer, every default filled in. */
export interface LayerGeometry {
  readonly queryHeads: number;
  readonly kvHeads: number;
  readonly keyHeadDim: number;
  readonly valueHeadDim: number;
  readonly scale: number;
  readonly slidingWindow: { readonly size: number; readonly sinks: number } | null;
  readonly softCap: number | null;
}

/** One LayerGeometry per layer. Throws GEOMETRY_INVALID. */
export function resolveGeometry(geometry: Geometry): LayerGeometry[] {
  const next = 'Take the numbers from the config.json of the model.';
  const parsed = parseOrThrow(geometrySchema, geometry, 'GEOMETRY_INVALID', 'geometry', next);
  const layers: LayerGeometry[] = [];
  for (let layer = 0; layer < parsed.layers; layer++) {
    const merged = { ...parsed };
    for (const override of parsed.layerOverrides ?? []) {
      const { layers: numbers, ...fields } = override;
      if (numbers.map((n) => layerNumber(n, parsed.layers)).includes(layer))
        Object.assign(merged, definedOnly(fields));
    }
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

function definedOnly(fields: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined));
}
