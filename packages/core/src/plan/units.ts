/**
 * Units: the kv heads of a layer whose keys, and whose values, are stored alike. A layer is one unit unless overrides name
 * single heads; backends know units only.
 */
import { LowbitKvError } from '../errors.js';
import { canonicalJson } from '../fingerprint.js';
import { type LayerGeometry, layerNumber } from '../geometry.js';
import type { QuantizedTensorScheme, TensorCalibration, TensorScheme } from '../scheme.js';
import type { SchemeData } from '../scheme-schema.js';

export interface HeadUnit {
  /** Kv heads of the model layer, rising. */
  readonly heads: readonly number[];
  readonly key: TensorScheme;
  readonly value: TensorScheme;
}

/**
 * The units of each layer, in the order of their first heads. Throws GEOMETRY_INVALID for a layer or head that the model
 * lacks, and PLAN_REFUSED where heads that are stored apart would share something.
 */
export function unitsOfLayers(
  scheme: SchemeData,
  geometry: readonly LayerGeometry[],
): HeadUnit[][] {
  const overrides = (scheme.overrides ?? []).map((override) => ({
    ...override,
    layers: override.layers.map((number) => layerNumber(number, geometry.length)),
  }));
  const texts = new Map<TensorScheme, string>();
  const textOf = (spec: TensorScheme) => {
    const text = texts.get(spec) ?? canonicalJson(spec);
    texts.set(spec, text);
    return text;
  };
  return geometry.map(({ kvHeads }, layer) => {
    const here = overrides.filter(({ layers }) => layers.includes(layer));
    const units = new Map<string, HeadUnit & { readonly heads: number[] }>();
    for (let head = 0; head < kvHeads; head++) {
      let { key, value } = scheme;
      for (const override of here) {
        if (override.heads !== undefined && !override.heads.includes(head)) continue;
        key = override.key ?? key;
        value = override.value ?? value;
      }
      const identity = `${textOf(key)} ${textOf(value)}`;
      const unit = units.get(identity);
      if (unit === undefined) units.set(identity, { heads: [head], key, value });
      else unit.heads.push(head);
    }
    for (const { heads = [] } of here) checkHeads(heads, kvHeads, layer);
    const list = [...units.values()];
    if (list.length > 1) checkApart(list, layer);
    return list;
  });
}

function checkHeads(heads: readonly number[], kvHeads: number, layer: number): void {
  const missing = heads.find((head) => head >= kvHeads);
  if (missing === undefined) return;
  throw new LowbitKvError('GEOMETRY_INVALID', {
    message: 'an override names a kv head that the layer does not have',
    value: missing,
    valid: `0 to ${kvHeads - 1}`,
    next: 'Correct the override.',
    where: { layer },
  });
}

/** What is shared by all heads of a layer would be shared by those of a unit only, and a layer is given one tensor of keys. */
function checkApart(units: readonly HeadUnit[], layer: number): void {
  const refuse = (tensor: 'key' | 'value', what: string, { heads }: HeadUnit, valid: string) => {
    throw new LowbitKvError('PLAN_REFUSED', {
      message: `a layer with overrides of single heads cannot ${what}`,
      value: heads,
      valid,
      next: 'Override the whole layer, or choose a scheme for it that keeps heads apart.',
      where: { tensor, layer },
    });
  };
  for (const unit of units) {
    for (const tensor of ['key', 'value'] as const) {
      const spec = unit[tensor];
      const shared = spec.bits === 16 ? undefined : sharedByAllHeads(spec);
      if (shared !== undefined)
        refuse(
          tensor,
          `share ${shared} over all heads`,
          unit,
          'groups of one head, and no tensor scale measured on the sequence',
        );
    }
    if (stageOf(unit.key) !== stageOf((units[0] as HeadUnit).key))
      refuse('key', 'take keys of two stages', unit, 'one stage for the keys of all heads');
  }
}

function stageOf(key: TensorScheme): string {
  return key.bits === 16 ? 'post-rope' : (key.stage ?? 'post-rope');
}

function sharedByAllHeads({ groups, transforms = [] }: QuantizedTensorScheme): string | undefined {
  if (groups.along === 'vector' && groups.scope === 'allHeads') return 'parameters';
  const scaled = transforms.some(
    (step) => step.kind === 'tensorScale' && step.scope === 'sequence',
  );
  return scaled ? 'a tensor scale' : undefined;
}

/** The calibrated values of some kv heads of a layer. */
export function calibrationOfHeads(
  values: TensorCalibration,
  heads: readonly number[],
): TensorCalibration {
  const pick = <T>(list: readonly T[]): T[] => heads.map((head) => list[head] as T);
  const { channelFactors, channelMeans, channelOrder } = values;
  return {
    ...values,
    ...(channelFactors === undefined ? {} : { channelFactors: pick(channelFactors) }),
    ...(channelMeans === undefined ? {} : { channelMeans: pick(channelMeans) }),
    ...(channelOrder === undefined ? {} : { channelOrder: pick(channelOrder) }),
  };
}
