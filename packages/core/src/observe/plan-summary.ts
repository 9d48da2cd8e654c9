/**
 * What an event says of a plan: its identity, and the geometry and sizes of layers, those that are planned alike once.
 */
import type { LayerGeometry } from '../geometry.js';
import type { LayerPlan, Plan, TensorPlan } from '../plan/plan.js';
import type { Transform } from '../scheme.js';

export interface PlanSummary {
  /** Id of the scheme. */
  readonly scheme: string;
  /** Of the plan, as snapshots have it. */
  readonly fingerprint: string;
  /** How many the model has. */
  readonly layers: number;
  readonly units: readonly UnitSummary[];
}

/** Layers of the model that are planned alike, or the kv heads of them that overrides set apart. */
export interface UnitSummary
  extends Pick<
    LayerGeometry,
    'queryHeads' | 'kvHeads' | 'keyHeadDim' | 'valueHeadDim' | 'scale' | 'softCap'
  > {
  readonly layers: readonly number[];
  /** Kv heads of the model layer. */
  readonly heads: readonly number[];
  readonly slidingWindow: { readonly size: number; readonly sinks: number } | null;
  /** Whether keys are held before the rotary embedding. */
  readonly rotary: boolean;
  readonly key: TensorPlanSummary;
  readonly value: TensorPlanSummary;
}

export interface TensorPlanSummary {
  /** Of a code; 16 for a tensor that stays f16. */
  readonly bits: number;
  readonly transforms: readonly Transform['kind'][];
  /** Index into `Plan.classes`. */
  readonly pageClass: number;
  /** Null for a tensor that stays f16. */
  readonly block: {
    readonly tokens: number;
    readonly tokensPerGroup: number;
    readonly channelsPerGroup: number;
  } | null;
  /** 0 where there is no such page. */
  readonly pageBytes: {
    readonly packed: number;
    readonly window: number;
    readonly statistics: number;
  };
}

export function summarizePlan(plan: Plan): PlanSummary {
  const alike = new Map<string, { readonly layers: number[]; readonly unit: LayerPlan }>();
  for (const unit of plan.layers) {
    const key = JSON.stringify(unitFields(unit));
    const known = alike.get(key);
    if (known === undefined) alike.set(key, { layers: [unit.layer], unit });
    else known.layers.push(unit.layer);
  }
  return {
    scheme: plan.scheme.id,
    fingerprint: plan.fingerprint,
    layers: new Set(plan.layers.map(({ layer }) => layer)).size,
    units: [...alike.values()].map(({ layers, unit }) => ({ layers, ...unitFields(unit) })),
  };
}

function unitFields({ heads, geometry, key, value }: LayerPlan): Omit<UnitSummary, 'layers'> {
  const { queryHeads, kvHeads, keyHeadDim, valueHeadDim, scale, softCap } = geometry;
  return {
    heads: [...heads],
    ...{ queryHeads, kvHeads, keyHeadDim, valueHeadDim, scale, softCap },
    slidingWindow: geometry.slidingWindow && { ...geometry.slidingWindow },
    rotary: geometry.rotary !== null,
    key: summarizeTensorPlan(key),
    value: summarizeTensorPlan(value),
  };
}

function summarizeTensorPlan(plan: TensorPlan): TensorPlanSummary {
  const { scheme, layout } = plan;
  const transforms = scheme.bits === 16 ? [] : (scheme.transforms ?? []);
  return {
    bits: scheme.bits,
    transforms: transforms.map(({ kind }) => kind),
    pageClass: plan.class,
    block: layout && {
      tokens: layout.blockTokens,
      tokensPerGroup: layout.tokensPerGroup,
      channelsPerGroup: layout.channelsPerGroup,
    },
    pageBytes: {
      packed: layout?.pageBytes ?? 0,
      window: plan.windowPageBytes,
      statistics: plan.statisticsPageBytes,
    },
  };
}
