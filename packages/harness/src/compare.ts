/**
 * Compares schemes on a capture: replays decoding with each through a real cache and measures what attention loses.
 */
import { LowbitKvError, type Scheme } from '@lowbit-kv/core';
import { prefillCalibration } from './calibration-source.js';
import type { Capture } from './capture.js';
import { type CaptureData, readCaptureData } from './capture-data.js';
import { captureError } from './capture-error.js';
import { checkExact, checkSwapped, requirePassed } from './checks.js';
import type { CompareOptions } from './compare-options.js';
import {
  DEFAULT_CAPTURE_MODEL_LAYERS,
  defaultCalibration,
  isDefaultCapture,
} from './default-capture-facts.js';
import { describeData } from './diagnosis.js';
import { exactAttention } from './exact-attention.js';
import { paretoFront } from './pareto.js';
import { prefillTokens } from './replay.js';
import type { CompareReport, ReportCheck, SchemeRow } from './report.js';
import { type CompareRun, measureScheme, schemeRow } from './scheme-row.js';
import { THRESHOLDS } from './thresholds.js';

/** The baseline: the same cache with nothing quantized. */
const F16: Scheme = Object.freeze({
  specVersion: 1,
  id: 'f16',
  title: 'f16, the baseline',
  sinks: 0,
  packing: 'after-attention',
  key: { bits: 16 },
  value: { bits: 16 },
  calibration: { kind: 'none' },
} as const);

/**
 * Runs the comparison. Throws MEASUREMENT_INVALID when a self-check of the run fails, OPTION_INVALID for two schemes of
 * one id, BACKEND_UNAVAILABLE, and what reading the capture throws. A scheme that does not fit is a row with its reason.
 */
export async function compareSchemes(options: CompareOptions): Promise<CompareReport> {
  const { capture, schemes, backend } = options;
  checkIds(schemes);
  const probe = await backend.probe();
  if (!probe.ok) {
    throw new LowbitKvError('BACKEND_UNAVAILABLE', {
      message: probe.reason,
      value: backend.id,
      valid: 'a backend that can start here',
      next: probe.next,
    });
  }
  const run = await prepareRun(options);
  const stepOf = (scheme: Scheme, place: number) => (step: number, steps: number) =>
    options.onProgress?.({
      id: scheme.id,
      scheme: place,
      schemes: schemes.length + 1,
      step,
      steps,
    });

  const checks: ReportCheck[] = [];
  const baseline = await measureScheme(run, F16, stepOf(F16, 0), async (replay) => {
    checks.push(await checkSwapped(run.data, replay.cache, replay.sequence, run.exact));
  });
  checks.unshift(...baseline.checks, checkExact(baseline.output));
  requirePassed(checks, backend.id);
  const rows: SchemeRow[] = [
    {
      ...baseline,
      verdict: { level: 'baseline', reason: 'f16, exact: what the others are measured against' },
    },
  ];
  for (const [i, scheme] of schemes.entries()) {
    rows.push(await schemeRow(run, scheme, stepOf(scheme, i + 1)));
  }
  return {
    reportVersion: 1,
    capture: captureSection(capture, run),
    backend: { id: backend.id, device: probe.device },
    reference: 'float64 attention over the f16 keys and values of the capture',
    replay: replaySection(run.data),
    thresholds: { ...THRESHOLDS },
    checks,
    valid: rows.every(({ verdict }) => verdict.level !== 'invalid'),
    schemes: rows,
    paretoFront: paretoFront(rows),
  };
}

async function prepareRun(options: CompareOptions): Promise<CompareRun> {
  const { capture } = options;
  const data = await readCaptureData(capture, positionsOf(options));
  const shipped = isDefaultCapture(capture);
  const exact = data.layers.map((layer) =>
    exactAttention({ ...layer.exact, query: layer.query }, data.sizes),
  );
  return {
    data,
    facts: describeData(data),
    exact,
    places: {
      captured: capture.layers,
      modelLayers: modelLayersOf(options, shipped),
    },
    source:
      options.calibrationSource ??
      (shipped ? await defaultCalibration(capture.layers, data.sizes) : prefillCalibration(data)),
    options,
  };
}

function modelLayersOf({ capture, modelLayers }: CompareOptions, shipped: boolean): number | null {
  const least = (capture.layers.at(-1) as number) + 1;
  const valid = `an integer of at least ${least}: the capture holds layer ${least - 1}`;
  const fits = (value: number) => Number.isSafeInteger(value) && value >= least;
  if (modelLayers !== undefined) {
    if (fits(modelLayers)) return modelLayers;
    throw new LowbitKvError('OPTION_INVALID', {
      message: 'modelLayers does not fit the capture',
      value: modelLayers,
      valid,
      next: 'Take the number of layers from the config.json of the model.',
      where: { field: 'modelLayers' },
    });
  }
  const text = capture.provenance.model_layers;
  if (text === undefined) return shipped ? DEFAULT_CAPTURE_MODEL_LAYERS : null;
  if (/^[0-9]{1,9}$/.test(text) && fits(Number(text))) return Number(text);
  throw captureError(capture.file, {
    reason: 'the metadata "model_layers" does not fit the capture',
    value: text,
    valid,
  });
}

function captureSection(capture: Capture, { data, places, facts }: CompareRun) {
  return {
    file: capture.file,
    sha256: data.sha256,
    provenance: { ...capture.provenance },
    layers: [...capture.layers],
    modelLayers: places.modelLayers,
    queryHeads: capture.queryHeads,
    kvHeads: capture.kvHeads,
    keyHeadDim: capture.keyHeadDim,
    valueHeadDim: capture.valueHeadDim,
    tokens: capture.tokens,
    queries: capture.queries,
    scale: capture.scale,
    data: [...facts],
  };
}

function replaySection(data: CaptureData): CompareReport['replay'] {
  const prefill = prefillTokens(data);
  const { tokens, queries, stride } = data.sizes;
  const steps = tokens - prefill;
  const first =
    prefill === 0 ? '' : `${prefill} tokens in one prefill step without attention, then `;
  return {
    prefillTokens: prefill,
    decodeSteps: steps,
    attendedPositions: queries,
    description: `${first}${steps} steps of one token; ${stride === 1 ? 'each' : `every ${ordinal(stride)}`} attended in the step that appends it`,
  };
}

/** Of 128 captured queries every third: an odd stride meets every phase of windows that pack 32 or 128 tokens at once. */
const DEFAULT_POSITIONS = 48;

function positionsOf({ positions = DEFAULT_POSITIONS }: CompareOptions): number {
  if (Number.isSafeInteger(positions) && positions > 0) return positions;
  throw new LowbitKvError('OPTION_INVALID', {
    message: 'positions must be a positive integer',
    value: positions,
    valid: 'an integer of at least 1',
    next: 'Leave it out for the default, or pass as many as the capture has.',
    where: { field: 'positions' },
  });
}

function ordinal(number: number): string {
  const suffix = { 1: 'st', 2: 'nd', 3: 'rd' }[number % 10];
  return `${number}${suffix === undefined || (number % 100 > 10 && number % 100 < 14) ? 'th' : suffix}`;
}

function checkIds(schemes: readonly Scheme[]): void {
  const ids = [F16.id, ...schemes.map(({ id }) => id)];
  const twice = ids.find((id, i) => ids.indexOf(id) !== i);
  if (twice === undefined) return;
  throw new LowbitKvError('OPTION_INVALID', {
    message: 'two rows of a comparison have the same id',
    value: twice,
    valid: 'different ids; f16 is the baseline, which is always there',
    next: 'Rename one scheme.',
    where: { field: 'schemes' },
  });
}
