/**
 * One row of a report: a scheme planned, replayed, measured, checked and judged.
 */
import {
  type Backend,
  createPlan,
  type ErrorCode,
  LowbitKvError,
  type Plan,
  type Scheme,
  schemeFingerprint,
} from '@lowbit-kv/core';
import type { CalibrationSource } from './calibration-source.js';
import { type CaptureData, geometryOf } from './capture-data.js';
import { checkAgreement, checkOutput } from './checks.js';
import type { CompareOptions } from './compare-options.js';
import { findCause } from './diagnosis.js';
import type { ExactAttention } from './exact-attention.js';
import { readHeldCache } from './held-cache.js';
import { type LayerPlaces, schemeForReplay, stretchCalibration } from './layer-mapping.js';
import { bitFigures, memoryFigures } from './memory.js';
import { outputError } from './metrics.js';
import { type Replay, replayCapture } from './replay.js';
import type { LayerData, MeasuredRow, SchemeRow } from './report.js';
import { type ResolvedCalibration, resolveCalibration } from './scheme-calibration.js';
import { decideVerdict } from './verdict.js';

/** What all schemes of a run share. */
export interface CompareRun {
  readonly data: CaptureData;
  readonly facts: readonly LayerData[];
  readonly exact: readonly ExactAttention[];
  readonly places: LayerPlaces;
  readonly source: CalibrationSource;
  readonly options: CompareOptions;
}

/** Codes that mean: this scheme does not fit this model. Anything else is thrown. */
const REFUSALS: readonly ErrorCode[] = [
  'SHAPE_UNSUPPORTED',
  'PLAN_REFUSED',
  'CALIBRATION_MISSING',
  'CALIBRATION_INVALID',
  'CODEC_MISSING',
  'GEOMETRY_INVALID',
];
/** Codes that mean: this scheme cannot store these data. */
const FAILURES: readonly ErrorCode[] = ['OUTLIER_CAPACITY'];

export type OnStep = (step: number, steps: number) => void;

/** The row of a scheme; a scheme that does not fit is a row with its reason. */
export async function schemeRow(
  run: CompareRun,
  scheme: Scheme,
  onStep: OnStep,
): Promise<SchemeRow> {
  try {
    return await measureScheme(run, scheme, onStep);
  } catch (error) {
    if (!LowbitKvError.is(error)) throw error;
    const refused = REFUSALS.includes(error.code);
    if (!refused && !FAILURES.includes(error.code)) throw error;
    const reason = error.message.slice(error.code.length + 2);
    return {
      status: refused ? 'refused' : 'failed',
      ...identityOf(scheme),
      code: error.code,
      reason,
      verdict: { level: refused ? 'refused' : 'unsafe', reason },
    };
  }
}

/** Measures a scheme. `inspect` may look at the replay before its cache is disposed. */
export async function measureScheme(
  run: CompareRun,
  scheme: Scheme,
  onStep: OnStep,
  inspect?: (replay: Replay) => Promise<void>,
): Promise<MeasuredRow> {
  const { data, places, options } = run;
  const replayed = schemeForReplay(scheme, places);
  const calibrated = await resolveCalibration(
    scheme,
    replayed,
    places,
    options.calibrations?.[scheme.id],
    run.source,
  );
  const plan = planFor(data, replayed, data.layers.length, calibrated?.calibration);
  const memoryPlan = planOfModel(run, scheme, plan, calibrated);
  const replay = await replayCapture(data, plan, options.backend, {
    allowEmulation: options.allowEmulation ?? false,
    onStep,
  });
  try {
    await inspect?.(replay);
    const row = await measure(run, scheme, plan, replay);
    const verdict = decideVerdict({
      scheme: plan.scheme,
      row,
      cause: row.cause,
      data: run.facts,
      tokens: data.sizes.tokens,
      group: data.sizes.queryHeads / data.sizes.kvHeads,
    });
    // Keys in the order of the report's schema, so that parsing a report changes no byte.
    const { checks, ...figures } = row;
    return {
      ...figures,
      memory: memoryFigures(memoryPlan),
      calibration: calibrated?.note ?? null,
      emulated: emulationOf(options.backend, plan),
      checks,
      verdict,
    };
  } finally {
    replay.cache.dispose();
  }
}

async function measure(run: CompareRun, scheme: Scheme, plan: Plan, replay: Replay) {
  const { data, exact } = run;
  const { cache, sequence } = replay;
  const numbers = data.layers.map(({ index }) => index);
  const stats = await cache.stats();
  const held = await readHeldCache(data, cache, sequence);
  const output = outputError(replay.layers, exact, numbers, data.sizes);
  const quantized = plan.classes.some(({ flush }) => flush > 0);
  return {
    status: 'measured' as const,
    ...identityOf(scheme),
    bits: bitFigures(plan, stats),
    held: (stats.sequences[0]?.classes ?? [])
      .filter((_, i) => (plan.classes[i]?.flush ?? 0) > 0)
      .map(({ tensor, layers, sinks, packed, tail }) => ({
        tensor,
        layers: layers.map((layer) => numbers[layer] as number),
        sinks,
        packed,
        tail,
      })),
    packedBytes: held.packedBytes,
    key: held.key,
    value: held.value,
    output,
    cause: quantized ? findCause(data, held.layers, exact, output) : null,
    checks: [
      checkOutput(replay, numbers),
      await checkAgreement(data, cache, sequence, held.layers),
    ],
  };
}

function planFor(
  data: CaptureData,
  scheme: Scheme,
  layers: number,
  calibration: ResolvedCalibration['calibration'] | undefined,
): Plan {
  const options = calibration === undefined ? {} : { calibration };
  return createPlan(scheme, geometryOf(data.sizes, layers), options);
}

/** The plan that memory is counted on: of the whole model when its size is known. */
function planOfModel(
  { data, places }: CompareRun,
  scheme: Scheme,
  plan: Plan,
  calibrated: ResolvedCalibration | null,
): Plan {
  const { captured, modelLayers } = places;
  if (modelLayers === null) return plan;
  const calibration =
    calibrated === null
      ? undefined
      : stretchCalibration(calibrated.calibration, scheme, { captured, modelLayers });
  return planFor(data, scheme, modelLayers, calibration);
}

function emulationOf(backend: Backend, plan: Plan): string[] {
  const support = backend.supports(plan);
  return support.kind === 'emulated' ? [...support.reasons] : [];
}

function identityOf(scheme: Scheme) {
  return { id: scheme.id, title: scheme.title, fingerprint: schemeFingerprint(scheme) };
}
