/** The figures of a comparison that gates and diffs can name. */
import type { CompareReport, MeasuredRow, SimulatedRow } from '../report.js';
import type { Metric, Reading } from './metric.js';

type Row = MeasuredRow | SimulatedRow;

const nmse = { unit: 'NMSE', better: 'lower' } as const;
const bits = { unit: 'bits per element', better: 'lower' } as const;

/** Simulations store nothing. */
function stored(read: (row: MeasuredRow) => Reading | null) {
  return (row: Row) => (row.status === 'measured' ? read(row) : null);
}

function layerReading({ layer, nmse: value }: { layer: number; nmse: number | null }): Reading {
  return { value, place: { layer } };
}

export const COMPARE_METRICS: readonly Metric<CompareReport, Row>[] = [
  {
    ...{ name: 'output.worstHead', ...nmse, field: 'output.worstHead.nmse' },
    what: 'attention output of the worst head',
    read: ({ output: { worstHead } }) => ({
      value: worstHead.nmse,
      place: { layer: worstHead.layer, head: worstHead.head },
    }),
  },
  {
    ...{ name: 'output.worstLayer', ...nmse, field: 'output.worstLayer.nmse' },
    what: 'attention output of the worst layer',
    read: ({ output }) => layerReading(output.worstLayer),
  },
  {
    ...{ name: 'output.worstRow', ...nmse, field: 'output.worstRow.value' },
    what: 'attention output of the worst query',
    read: ({ output: { worstRow } }) => placed(worstRow),
  },
  {
    ...{ name: 'output.mean', ...nmse, field: 'output.nmse' },
    what: 'attention output, mean over layers',
    read: ({ output }) => ({ value: output.nmse }),
  },
  {
    ...{ name: 'output.maxAbsError', field: 'output.maxAbsError.value' },
    ...{ unit: 'value', better: 'lower' },
    what: 'largest error of an element of the attention output',
    read: ({ output: { maxAbsError } }) => placed(maxAbsError),
  },
  {
    ...{ name: 'logSumExp.max', unit: 'nats', better: 'lower', field: 'output.logSumExp.max' },
    what: 'largest drift of the log-sum-exp of attention',
    read: ({ output }) => ({ value: output.logSumExp.max }),
  },
  {
    ...{ name: 'key.worstLayer', ...nmse, field: 'key.worstLayer.nmse' },
    what: 'stored keys of the worst layer',
    read: ({ key }) => layerReading(key.worstLayer),
  },
  {
    ...{ name: 'key.mean', ...nmse, field: 'key.nmse' },
    what: 'stored keys, mean over layers',
    read: ({ key }) => ({ value: key.nmse }),
  },
  {
    ...{ name: 'value.worstLayer', ...nmse, field: 'value.worstLayer.nmse' },
    what: 'stored values of the worst layer',
    read: ({ value }) => layerReading(value.worstLayer),
  },
  {
    ...{ name: 'value.mean', ...nmse, field: 'value.nmse' },
    what: 'stored values, mean over layers',
    read: ({ value }) => ({ value: value.nmse }),
  },
  {
    ...{ name: 'bits', ...bits, field: 'bits.attended' },
    what: 'whole cache, windows included, mean over the steps that attend',
    read: stored((row) => ({ value: row.bits.attended })),
  },
  {
    ...{ name: 'bits.total', ...bits, field: 'bits.total' },
    what: 'whole cache after the last step, unused room included',
    read: stored((row) => ({ value: row.bits.total })),
  },
  {
    ...{ name: 'bits.packed', ...bits, field: 'bits.packed.total' },
    what: 'packed blocks alone: what a long context tends to',
    read: stored((row) => (row.bits.packed === null ? null : { value: row.bits.packed.total })),
  },
  {
    ...{ name: 'memory.ratio', unit: 'times', better: 'higher', field: 'memory[].ratio' },
    what: 'bytes of f16 over bytes of the scheme, at the context where it saves least',
    read: stored(({ memory }) => {
      const [least] = memory.toSorted((a, b) => a.ratio - b.ratio);
      return least === undefined ? null : { value: least.ratio, place: { tokens: least.tokens } };
    }),
  },
];

function placed(row: Row['output']['worstRow']): Reading {
  const { value, layer, head, position } = row;
  return { value, place: { layer, head, position } };
}
