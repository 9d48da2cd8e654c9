/**
 * What a layer can be stored as: the distinct key and value tensors of some presets, all under the same windows.
 */
import {
  type Backend,
  bitsPerElement,
  type Calibration,
  calibrationNeedOf,
  canonicalJson,
  createPlan,
  type Geometry,
  type PageClass,
  type Plan,
  type Scheme,
  type SchemeData,
  schemeFingerprint,
  type TensorCalibration,
  type TensorScheme,
  windowCounts,
} from '@lowbit-kv/core';
import { inModelLayers, type LayerPlaces } from '../layer-mapping.js';
import { refusalOf } from '../refusals.js';

export type TensorName = 'key' | 'value';

/** f16 windows that every tensor of a tuned scheme has. */
export interface TuneWindows {
  readonly sinks: number;
  readonly recent: number;
}

export interface Candidate {
  readonly tensor: TensorName;
  /** Presets that store this tensor so, windows aside; `f16` for the one that is always there. */
  readonly presets: readonly [string, ...string[]];
  readonly scheme: TensorScheme;
  /** Of full blocks, as `bitsPerElement` counts. */
  readonly bits: number;
  readonly rule: PageClass;
  /** One per captured layer; null without offline calibration. */
  readonly calibration: readonly TensorCalibration[] | null;
}

/** A preset that gives no candidate for a tensor. */
export interface LeftOut {
  readonly preset: string;
  readonly tensor: TensorName;
  readonly reason: string;
}

export interface CandidateSource {
  readonly preset: Scheme;
  /** Of the captured layers; null when the preset needs none. */
  readonly calibration: Calibration | null;
}

/** The tensor scheme under these windows; groups along tokens are packed one at a time. */
export function withWindows(scheme: TensorScheme, { recent }: TuneWindows): TensorScheme {
  if (scheme.bits === 16) return scheme;
  const { groups } = scheme;
  return { ...scheme, window: { recent, flush: groups.along === 'tokens' ? groups.size : 1 } };
}

export interface CandidateContext {
  readonly backend: Backend;
  readonly windows: TuneWindows;
  /** Of the captured layers. */
  readonly geometry: Geometry;
  readonly places: LayerPlaces;
  /** Tokens when the first query to choose by attends. A candidate that has packed nothing by then would seem free of error. */
  readonly tokens: number;
}

const CODEC = 'a codec is functions, which a scheme file cannot hold';

/** Candidates of one tensor by rising bits, f16 the last, and what was left out. */
export function candidatesOf(
  tensor: TensorName,
  sources: readonly CandidateSource[],
  context: CandidateContext,
): { readonly candidates: readonly Candidate[]; readonly leftOut: readonly LeftOut[] } {
  const { windows, geometry } = context;
  const found = new Map<string, Candidate>();
  const leftOut: LeftOut[] = [];
  for (const { preset, calibration } of sources) {
    const scheme = withWindows(preset[tensor], windows);
    if (scheme.bits === 16) continue;
    const own = ownCalibration(scheme, tensor, calibration);
    const identity = canonicalJson({ scheme, own });
    const known = found.get(identity);
    if (known !== undefined) {
      found.set(identity, { ...known, presets: [...known.presets, preset.id] });
      continue;
    }
    if (scheme.quantizer.mode === 'codec') {
      leftOut.push({ preset: preset.id, tensor, reason: CODEC });
      continue;
    }
    try {
      const plan = planOf({ tensor, scheme, calibration: own }, windows, geometry);
      const candidate = candidateOf(plan, tensor, scheme, preset.id, own);
      const reason = unusable(plan, candidate, context);
      if (reason === null) found.set(identity, candidate);
      else leftOut.push({ preset: preset.id, tensor, reason });
    } catch (error) {
      const refusal = refusalOf(inModelLayers(error, context.places));
      if (refusal === null) throw error;
      leftOut.push({ preset: preset.id, tensor, reason: refusal.reason });
    }
  }
  const f16: TensorScheme = { bits: 16 };
  const plan = planOf({ tensor, scheme: f16, calibration: null }, windows, geometry);
  const candidates = [...found.values(), candidateOf(plan, tensor, f16, 'f16', null)];
  return { candidates: candidates.toSorted((a, b) => a.bits - b.bits), leftOut };
}

/** A plan that stores one tensor as the candidate says and the other in f16; of one captured layer when `place` is given. */
export function planOf(
  { tensor, scheme, calibration }: Pick<Candidate, 'tensor' | 'scheme' | 'calibration'>,
  windows: TuneWindows,
  geometry: Geometry,
  place?: number,
): Plan {
  const f16: TensorScheme = { bits: 16 };
  const data: SchemeData = {
    specVersion: 1,
    id: 'candidate',
    title: 'A candidate',
    sinks: windows.sinks,
    packing: 'before-attention',
    key: tensor === 'key' ? scheme : f16,
    value: tensor === 'value' ? scheme : f16,
    calibration: calibrationNeedOf([scheme]),
  };
  if (calibration === null) return createPlan(data, geometry);
  const layers = place === undefined ? calibration : [calibration[place] as TensorCalibration];
  return createPlan(data, geometry, {
    calibration: {
      specVersion: 1,
      scheme: schemeFingerprint(data),
      provenance: {},
      layers: layers.map((values) => ({ [tensor]: values })),
    },
  });
}

function candidateOf(
  plan: Plan,
  tensor: TensorName,
  scheme: TensorScheme,
  preset: string,
  calibration: Candidate['calibration'],
): Candidate {
  return {
    tensor,
    presets: [preset],
    scheme,
    bits: bitsPerElement(plan)[tensor].total,
    rule: plan.classes[plan.layers[0]?.[tensor].class ?? 0] as PageClass,
    calibration,
  };
}

/** Why a candidate cannot be tried, or null. */
function unusable(
  plan: Plan,
  { rule }: Candidate,
  { backend, tokens }: CandidateContext,
): string | null {
  const support = backend.supports(plan);
  if (support.kind !== 'native') return support.reasons.join('; ');
  return windowCounts(rule, tokens).packed > 0
    ? null
    : `packs nothing before the first query, after ${tokens} tokens: take smaller windows or queries later in the capture`;
}

/** What the tensor itself takes from the calibration of its preset. */
function ownCalibration(
  scheme: TensorScheme,
  tensor: TensorName,
  calibration: Calibration | null,
): Candidate['calibration'] {
  if (calibration === null || calibrationNeedOf([scheme]).kind !== 'offline') return null;
  return calibration.layers.map((layer) => layer[tensor] ?? {});
}
