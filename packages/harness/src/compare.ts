/**
 * Compares schemes on a capture: replays decoding with each through a real cache and measures what attention loses.
 */
import { LowbitKvError } from '@lowbit-kv/core';
import type { Capture } from './capture.js';
import type { CaptureData } from './capture-data.js';
import { checkExact, checkSwapped, requirePassed } from './checks.js';
import type { CompareOptions } from './compare-options.js';
import { type CompareRun, prepareRun, requireBackend } from './compare-run.js';
import { F16 } from './f16-scheme.js';
import { paretoFront } from './pareto.js';
import { prefillTokens } from './replay.js';
import type { CompareReport, ReportCheck, SchemeRow } from './report.js';
import { measureScheme, schemeRow } from './scheme-row.js';
import { simulationRow } from './simulation-row.js';
import { THRESHOLDS } from './thresholds.js';

/**
 * Runs the comparison. Throws MEASUREMENT_INVALID when a self-check of the run fails, OPTION_INVALID for two schemes of
 * one id, BACKEND_UNAVAILABLE, and what reading the capture throws. A scheme that does not fit is a row with its reason.
 */
export async function compareSchemes(options: CompareOptions): Promise<CompareReport> {
  const { capture, schemes, simulations = [], backend } = options;
  checkIds([...schemes, ...simulations]);
  const device = await requireBackend(backend);
  const run = await prepareRun(options);
  const stepOf =
    ({ id }: { readonly id: string }, place: number) =>
    (step: number, steps: number) =>
      options.onProgress?.({
        id,
        scheme: place,
        schemes: schemes.length + simulations.length + 1,
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
  for (const [i, simulation] of simulations.entries()) {
    const onStep = stepOf(simulation, schemes.length + i + 1);
    rows.push(await simulationRow(run, simulation, onStep));
  }
  return {
    reportVersion: 1,
    capture: captureSection(capture, run),
    backend: { id: backend.id, device },
    reference: 'float64 attention over the f16 keys and values of the capture',
    replay: replaySection(run.data),
    thresholds: { ...THRESHOLDS },
    checks,
    valid: rows.every(({ verdict }) => verdict.level !== 'invalid'),
    schemes: rows,
    paretoFront: paretoFront(rows),
  };
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

function ordinal(number: number): string {
  const suffix = { 1: 'st', 2: 'nd', 3: 'rd' }[number % 10];
  return `${number}${suffix === undefined || (number % 100 > 10 && number % 100 < 14) ? 'th' : suffix}`;
}

function checkIds(subjects: readonly { readonly id: string }[]): void {
  const ids = [F16.id, ...subjects.map(({ id }) => id)];
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
