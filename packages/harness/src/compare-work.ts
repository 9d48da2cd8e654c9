/** What a comparison is about, before anything is measured, and the units of work that it falls into. */
import { fingerprint, schemeFingerprint } from '@lowbit-kv/core';
import * as z from 'zod';
import type { Capture } from './capture.js';
import type { CaptureData } from './capture-data.js';
import type { CompareOptions } from './compare-options.js';
import type { CompareRun } from './compare-run.js';
import { F16 } from './f16-scheme.js';
import { prefillTokens } from './replay.js';
import { type CompareReport, compareReportSchema, count } from './report.js';
import { THRESHOLDS } from './thresholds.js';
import type { WorkGroup } from './work/partition.js';
import { F16_COST, SIMULATION_COST, schemeCost } from './work/scheme-cost.js';

const { capture, backend, reference, replay, thresholds } = compareReportSchema.shape;

export const compareWorkSchema = z.strictObject({
  capture,
  backend,
  reference,
  replay,
  thresholds,
  /** What else the figures depend on: calibrations that were given, as fingerprints by scheme. */
  inputs: z.strictObject({
    allowEmulation: z.boolean(),
    calibrations: z.record(z.string(), z.string()),
    calibrationSource: z.string(),
  }),
  /** After f16, in the order of the report: schemes, then simulations. */
  schemes: z.array(
    z.strictObject({
      id: z.string(),
      title: z.string(),
      /** Null for a simulation. */
      fingerprint: z.string().nullable(),
      cost: count,
    }),
  ),
});

export type CompareWork = z.infer<typeof compareWorkSchema>;

/** `device` is that of the backend. */
export function compareWork(options: CompareOptions, run: CompareRun, device: string): CompareWork {
  const { capture, backend, schemes, simulations = [], calibrations = {} } = options;
  const given = schemes.flatMap(({ id }) => {
    const calibration = calibrations[id];
    return calibration === undefined ? [] : [[id, fingerprint(calibration)]];
  });
  return {
    capture: captureSection(capture, run),
    backend: { id: backend.id, device },
    reference: 'float64 attention over the f16 keys and values of the capture',
    replay: replaySection(run.data),
    thresholds: { ...THRESHOLDS },
    inputs: {
      allowEmulation: options.allowEmulation ?? false,
      calibrations: Object.fromEntries(given),
      calibrationSource: run.source.note.description,
    },
    schemes: [
      ...schemes.map((scheme) => ({
        id: scheme.id,
        title: scheme.title,
        fingerprint: schemeFingerprint(scheme),
        cost: schemeCost(scheme),
      })),
      ...simulations.map(({ id, title }) => ({
        ...{ id, title, fingerprint: null },
        cost: SIMULATION_COST,
      })),
    ],
  };
}

/** Units have the ids of their rows. Every shard replays f16: that its cache is exact says that the machine measures. */
export function compareGroups({ schemes }: Pick<CompareWork, 'schemes'>): WorkGroup[] {
  const units = schemes.map(({ id, cost }) => ({ name: id, cost }));
  return [{ setup: F16_COST, baseline: F16.id, units }];
}

function captureSection(
  capture: Capture,
  { data, places, facts }: CompareRun,
): CompareReport['capture'] {
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
