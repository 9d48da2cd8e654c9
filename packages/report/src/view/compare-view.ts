/** What a page shows of a comparison. */
import type { CompareReport, MeasuredRow, SimulatedRow } from '@lowbit-kv/harness';
import type { ReportContext } from '../report-kind.js';
import { checkNotes } from './check-notes.js';
import { bytesText, cell, fixed, short, tokensText } from './figures.js';
import { headRows, heatGroup } from './heat-map.js';
import { provenanceFacts } from './provenance.js';
import { speedView } from './speed-view.js';
import type { HeatMapView, ReportView, SchemeView, TableView } from './view.js';

type Row = CompareReport['schemes'][number];

export function compareView(report: CompareReport, context: ReportContext): ReportView {
  const { capture, thresholds } = report;
  const { model, text } = capture.provenance;
  return {
    kind: 'comparison',
    title: model ?? capture.file,
    subtitle: `${text === undefined ? '' : `${text}. `}Decoding replayed over ${capture.tokens} captured tokens of layers ${capture.layers.join(', ')}, measured against ${report.reference}.`,
    valid: report.valid,
    errorName: 'NMSE of attention outputs',
    bitsName: 'Bits per element of keys and values',
    schemes: report.schemes.map(schemeView),
    paretoFront: report.paretoFront,
    tables: [accuracyTable(report), dataTable(report)],
    limits: { safe: thresholds.safeWorstHead, care: thresholds.careWorstHead },
    memoryNote: `One sequence of ${capture.modelLayers === null ? `the ${capture.layers.length} captured layers` : `all ${capture.modelLayers} layers`}`,
    speed: speedView(report.schemes, context.benches ?? []),
    facts: provenanceFacts(report, context),
  };
}

function schemeView(row: Row): SchemeView {
  const { id, title, verdict } = row;
  const common = { id, title, verdict, curve: [], buckets: null };
  if (row.status !== 'measured' && row.status !== 'simulated') {
    const { fingerprint, code } = row;
    const none = { bits: null, error: null, heatMap: null, memory: [] };
    return { ...common, ...none, fingerprint, notes: [`Error code ${code}.`] };
  }
  const baseline = verdict.level === 'baseline';
  const figures = {
    ...common,
    error: row.output.nmse,
    heatMap: baseline ? null : heatMapOf(row),
  };
  if (row.status === 'simulated')
    return { ...figures, fingerprint: null, bits: null, memory: [], notes: simulatedNotes(row) };
  const { fingerprint, bits, memory } = row;
  return { ...figures, fingerprint, bits: bits.attended, memory, notes: measuredNotes(row) };
}

function heatMapOf({ output, key, value }: MeasuredRow | SimulatedRow): HeatMapView {
  const layers = output.layers.map(({ layer }) => layer);
  const rows = (
    errors: { readonly layers: readonly { readonly heads: readonly (number | null)[] }[] },
    names: { readonly label: string; readonly place: string },
  ) =>
    headRows(
      errors.layers.map(({ heads }) => heads),
      names,
    );
  return {
    title: 'NMSE by layer: of attention outputs by query head, of keys and values by kv head',
    layers,
    groups: [
      heatGroup('outputs', layers, rows(output, { label: 'head', place: 'head' })),
      heatGroup('keys', layers, rows(key, { label: 'keys', place: 'kv head' })),
      heatGroup('values', layers, rows(value, { label: 'values', place: 'kv head' })),
    ],
  };
}

function tensorNotes({ key, value, calibration }: MeasuredRow | SimulatedRow): string[] {
  return [
    `NMSE of keys ${short(key.nmse)}, of values ${short(value.nmse)}.`,
    ...(calibration === null ? [] : [`Calibrated on ${calibration.description}.`]),
  ];
}

function measuredNotes(row: MeasuredRow): string[] {
  const { cause, emulated, checks } = row;
  return [
    ...tensorNotes(row),
    ...(cause === null
      ? []
      : [
          `Head ${cause.head} of layer ${cause.layer}: output NMSE ${short(cause.keysOnly)} from the keys alone, ${short(cause.valuesOnly)} from the values alone.`,
        ]),
    ...emulated.map((reason) => `Emulated by the backend: ${reason}.`),
    ...checkNotes(checks),
  ];
}

function simulatedNotes(row: SimulatedRow): string[] {
  return ['The published code stores nothing in bits: no bytes.', ...tensorNotes(row)];
}

function accuracyTable({ schemes, paretoFront }: CompareReport): TableView {
  const lengths = schemes.flatMap((row) => (row.status === 'measured' ? [row.memory] : []))[0];
  return {
    caption: 'Accuracy and size of every scheme',
    head: [
      'Scheme',
      'Verdict',
      'Bits',
      'Pareto',
      'Output NMSE',
      'Worst layer',
      'Worst head',
      'Keys',
      'Values',
      ...(lengths ?? []).map(({ tokens }) => `Memory at ${tokensText(tokens)}`),
      'Of f16',
    ],
    rows: schemes.map((row) => {
      const { id, verdict } = row;
      if (row.status !== 'measured' && row.status !== 'simulated') {
        const empty = Array.from({ length: 8 + (lengths?.length ?? 0) }, () => cell(null));
        return [id, verdict.level, ...empty];
      }
      const { output, key, value } = row;
      const stored = row.status === 'measured' ? row : null;
      const last = stored?.memory.at(-1);
      const share = last === undefined ? null : last.bytes / last.f16Bytes;
      return [
        id,
        verdict.level,
        cell(stored?.bits.attended, fixed(stored?.bits.attended, 2)),
        paretoFront.includes(id) ? 'yes' : '-',
        cell(output.nmse),
        cell(
          output.worstLayer.nmse,
          `${short(output.worstLayer.nmse)} L${output.worstLayer.layer}`,
        ),
        cell(
          output.worstHead.nmse,
          `${short(output.worstHead.nmse)} L${output.worstHead.layer} h${output.worstHead.head}`,
        ),
        cell(key.nmse),
        cell(value.nmse),
        ...(lengths ?? []).map((_, i) => {
          const bytes = stored?.memory[i]?.bytes;
          return cell(bytes, bytes === undefined ? '-' : bytesText(bytes));
        }),
        cell(share, share === null ? '-' : `${(100 * share).toFixed(1)} %`),
      ];
    }),
  };
}

function dataTable({ capture }: CompareReport): TableView {
  const largest = (ratios: readonly (number | null)[]) =>
    Math.max(...ratios.map((ratio) => ratio ?? 0));
  return {
    caption: 'The captured data: outliers are the largest channel over the median one, worst head',
    head: ['Layer', 'RMS of keys', 'RMS of values', 'Key outliers', 'Value outliers'],
    rows: capture.data.map((layer) => [
      cell(layer.layer, `layer ${layer.layer}`),
      cell(layer.keyRootMeanSquare),
      cell(layer.valueRootMeanSquare),
      cell(largest(layer.keyChannelOutliers), fixed(largest(layer.keyChannelOutliers), 1)),
      cell(largest(layer.valueChannelOutliers), fixed(largest(layer.valueChannelOutliers), 1)),
    ]),
  };
}
