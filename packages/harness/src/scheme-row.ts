/**
 * One row of a report: a scheme planned, replayed, measured, checked and judged.
 */
import {
  type Backend,
  createPlan,
  type Plan,
  type Scheme,
  schemeFingerprint,
} from '@lowbit-kv/core';
import type { CaptureData } from './capture-data.js';
import { geometryOf, positionOf } from './capture-layers.js';
import { checkAgreement, checkOutput } from './checks.js';
import type { CompareRun } from './compare-run.js';
import { findCause } from './diagnosis.js';
import { readHeldCache } from './held-cache.js';
import { inModelLayers, schemeForReplay, stretchCalibration } from './layer-mapping.js';
import { bitFigures, memoryFigures } from './memory.js';
import { outputError } from './metrics.js';
import { calibrationStage } from './pre-rope.js';
import { refusalOf } from './refusals.js';
import { type Replay, replayCapture } from './replay.js';
import type { MeasuredRow, UnmeasuredRow } from './report.js';
import { requireRotary } from './rotary.js';
import { type ResolvedCalibration, resolveCalibration } from './scheme-calibration.js';
import { decideVerdict } from './verdict.js';

export type OnStep = (step: number, steps: number) => void;
/** Looks at a replay before its cache is disposed. */
export type Inspect = (replay: Replay) => Promise<void>;

/** A scheme and the plans of its row. */
export interface PlannedScheme {
  readonly scheme: Scheme;
  /** Of the captured layers. */
  readonly plan: Plan;
  readonly calibrated: ResolvedCalibration | null;
  /** What memory is counted on: the whole model when its size is known. */
  readonly memoryPlan: Plan;
}

/** The row of a scheme; a scheme that does not fit is a row with its reason. */
export async function schemeRow(
  run: CompareRun,
  scheme: Scheme,
  onStep: OnStep,
  inspect?: Inspect,
): Promise<MeasuredRow | UnmeasuredRow> {
  return unlessSchemeRefused(scheme, async () =>
    measureScheme(run, await planScheme(run, scheme), onStep, inspect),
  );
}

/** What `work` gives, or the row of a scheme that does not fit. */
export async function unlessSchemeRefused<Row>(
  scheme: Scheme,
  work: () => Promise<Row>,
): Promise<Row | UnmeasuredRow> {
  try {
    return await work();
  } catch (error) {
    return refusedRow(error, identityOf(scheme));
  }
}

/** The row of what does not fit; throws what is about something else. */
export function refusedRow(
  error: unknown,
  identity: Pick<UnmeasuredRow, 'id' | 'title' | 'fingerprint'>,
): UnmeasuredRow {
  const refusal = refusalOf(error);
  if (refusal === null) throw error;
  const { status, code, reason } = refusal;
  const verdict = { level: status === 'refused' ? status : 'unsafe', reason } as const;
  return { status, ...identity, code, reason, verdict };
}

/** Throws when the scheme does not fit. */
export async function planScheme(run: CompareRun, scheme: Scheme): Promise<PlannedScheme> {
  const { plan, calibrated } = await planReplay(run, scheme);
  return { scheme, plan, calibrated, memoryPlan: planOfModel(run, scheme, plan, calibrated) };
}

/** Measures a scheme. Throws when its data do not fit. */
export async function measureScheme(
  run: CompareRun,
  { scheme, plan, calibrated, memoryPlan }: PlannedScheme,
  onStep: OnStep,
  inspect?: Inspect,
): Promise<MeasuredRow> {
  const { data, options } = run;
  const replay = await replayCapture(data, plan, options.backend, {
    allowEmulation: options.allowEmulation ?? false,
    onStep,
    pause: run.pause,
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

/** The plan of a scheme for the captured layers, calibrated when it has to be. */
export async function planReplay(
  run: CompareRun,
  scheme: Scheme,
): Promise<{ readonly plan: Plan; readonly calibrated: ResolvedCalibration | null }> {
  const { data, places, options, source } = run;
  if (calibrationStage(scheme) === 'pre-rope') requireRotary(data.rotary);
  const replayed = schemeForReplay(scheme, places);
  const given = options.calibrations?.[scheme.id];
  try {
    const calibrated = await resolveCalibration(scheme, replayed, places, given, source);
    const plan = planFor(data, replayed, data.layers.length, calibrated?.calibration);
    return { plan, calibrated };
  } catch (error) {
    throw inModelLayers(error, places);
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
    bits: bitFigures(plan, stats, attendedLengths(data)),
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

/** Tokens of the sequence in each step that attends. */
function attendedLengths({ sizes }: CaptureData): number[] {
  return Array.from({ length: sizes.queries }, (_, row) => positionOf(sizes, row) + 1);
}

function planFor(
  data: CaptureData,
  scheme: Scheme,
  layers: number,
  calibration: ResolvedCalibration['calibration'] | undefined,
): Plan {
  const options = calibration === undefined ? {} : { calibration };
  return createPlan(scheme, geometryOf(data, layers), options);
}

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
