/** What a page shows of an evaluation. */
import type { EvalMeasuredRow, EvalReport, MemoryFigure } from '@lowbit-kv/harness';
import type { ReportContext } from '../report-kind.js';
import { checkNotes } from './check-notes.js';
import { cell, fixed, short } from './figures.js';
import { headRows, heatGroup } from './heat-map.js';
import { provenanceFacts } from './provenance.js';
import { speedView } from './speed-view.js';
import type { HeatMapView, ReportView, SchemeView, TableView } from './view.js';

type Memory = Readonly<Record<string, readonly MemoryFigure[]>>;

export function evalView(report: EvalReport, context: ReportContext): ReportView {
  const { model, text, windows, thresholds, schemes } = report;
  const memory = context.memory ?? {};
  return {
    kind: 'evaluation',
    title: model.name,
    subtitle: `${windows.predictions} predictions in ${windows.count} ${windows.count === 1 ? 'window' : 'windows'} of ${windows.windowTokens} tokens of ${text.name}, measured against the same model with an f16 cache.`,
    valid: report.valid,
    errorName: 'Mean KL divergence from f16, nats',
    bitsName: 'Bits per element of keys and values',
    schemes: schemes.map((row) => schemeView(row, memory)),
    paretoFront: paretoFront(schemes),
    tables: [qualityTable(report)],
    limits: { safe: thresholds.safeWorstLayer, care: 5 * thresholds.safeWorstLayer },
    memoryNote:
      Object.keys(memory).length === 0 ? null : `One sequence of all ${model.layers} layers`,
    speed: speedView(schemes, context.benches ?? []),
    facts: provenanceFacts(report, context),
  };
}

function schemeView(row: EvalReport['schemes'][number], given: Memory): SchemeView {
  const { id, title, verdict, fingerprint } = row;
  const memory = given[id] ?? [];
  const common = { id, title, verdict, fingerprint, memory };
  if (row.status !== 'measured') {
    const none = { bits: null, error: null, heatMap: null, curve: [], buckets: null };
    return { ...common, ...none, notes: [`Error code ${row.code}.`] };
  }
  return {
    ...common,
    bits: row.bits.stored,
    error: row.divergence.mean,
    heatMap: verdict.level === 'baseline' ? null : noiseMap(row),
    curve: row.curve,
    buckets: bucketTable(row),
    notes: [
      ...(row.calibration === null ? [] : [`Calibrated on ${row.calibration}.`]),
      ...checkNotes(row.checks),
    ],
  };
}

function noiseMap({ noise }: EvalMeasuredRow): HeatMapView {
  const layers = noise.layers.map(({ layer }) => layer);
  const whole = (
    name: string,
    read: (layer: EvalMeasuredRow['noise']['layers'][number]) => number | null,
  ) => ({ label: name, place: '', values: noise.layers.map(read) });
  // Attention inside the model has no outputs to measure.
  const known = noise.layers.some(({ outputNmse }) => outputNmse !== null);
  const heads = headRows(
    noise.layers.map(({ headNmse }) => headNmse),
    { label: 'head', place: 'head' },
  );
  return {
    title: `NMSE by layer: of keys and values${known ? ', of attention outputs, and of these by query head' : ''}`,
    layers,
    groups: [
      heatGroup('keys', layers, [whole('keys', ({ keyNmse }) => keyNmse)]),
      heatGroup('values', layers, [whole('values', ({ valueNmse }) => valueNmse)]),
      ...(known
        ? [heatGroup('outputs', layers, [whole('outputs', ({ outputNmse }) => outputNmse)])]
        : []),
      ...(heads.length > 0 ? [heatGroup('heads', layers, heads)] : []),
    ],
  };
}

/** Ids that no other scheme beats in both bits and mean divergence, by rising bits. */
function paretoFront(schemes: EvalReport['schemes']): string[] {
  const points = schemes.flatMap((row) => {
    if (row.status !== 'measured' || !['safe', 'care', 'unsafe'].includes(row.verdict.level))
      return [];
    const { stored } = row.bits;
    const { mean } = row.divergence;
    return stored === null || mean === null ? [] : [{ id: row.id, bits: stored, error: mean }];
  });
  return points
    .filter((point) =>
      points.every(
        (other) =>
          other.bits > point.bits ||
          other.error > point.error ||
          (other.bits === point.bits && other.error === point.error),
      ),
    )
    .toSorted((a, b) => a.bits - b.bits)
    .map(({ id }) => id);
}

function bucketTable({ buckets }: EvalMeasuredRow): TableView {
  return {
    caption: 'KL divergence by position',
    head: ['Positions', 'Predictions', 'Mean', 'p99', 'Same top token'],
    rows: buckets.map(({ from, to, predictions, divergence, topAgreement: { mean } }) => [
      cell(from, `${from} to ${to - 1}`),
      cell(predictions, String(predictions)),
      cell(divergence.mean),
      cell(divergence.p99),
      cell(mean, mean === null ? '-' : `${(100 * mean).toFixed(1)} %`),
    ]),
  };
}

function qualityTable({ schemes }: EvalReport): TableView {
  const head = [
    'Scheme',
    'Verdict',
    'Bits',
    'Perplexity',
    'Of f16',
    'Mean KL',
    'KL p99',
    'Same top token',
    'Worst keys',
    'Worst values',
    'Worst layer',
    'Tokens/s',
  ];
  return {
    caption: 'Quality of every scheme; tokens/s is the rate of this evaluation',
    head,
    rows: schemes.map((row) => {
      const { id, verdict } = row;
      if (row.status !== 'measured')
        return [id, verdict.level, ...head.slice(2).map(() => cell(null))];
      const { bits, perplexity, perplexityRatio, divergence, topAgreement, noise, rate } = row;
      const place = (worst: { readonly layer: number; readonly nmse: number | null } | null) =>
        cell(worst?.nmse, worst === null ? '-' : `${short(worst.nmse)} L${worst.layer}`);
      const top = topAgreement.mean;
      return [
        id,
        verdict.level,
        cell(bits.stored, fixed(bits.stored, 2)),
        cell(perplexity.value, fixed(perplexity.value, 3)),
        cell(perplexityRatio.value, fixed(perplexityRatio.value, 4)),
        cell(divergence.mean),
        cell(divergence.p99),
        cell(top, top === null ? '-' : `${(100 * top).toFixed(1)} %`),
        place(noise.worstKeys),
        place(noise.worstValues),
        place(noise.worstLayer),
        cell(rate.tokensPerSecond, fixed(rate.tokensPerSecond, 0)),
      ];
    }),
  };
}
