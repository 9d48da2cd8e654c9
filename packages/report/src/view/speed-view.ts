/** What a page shows of benchmarks: decode steps by context, and from which context on a scheme is faster than f16. */
import {
  type BenchShape,
  breakEven,
  breakEvenText,
  type DecodeStep,
  decodeSteps,
  F16,
  perToken,
  shapeText,
  stepGroups,
} from '@lowbit-kv/harness';
import type { NamedBench } from '../report-kind.js';

export interface SpeedPoint {
  readonly context: number;
  /** Microseconds of a layer and new token: append and attention. */
  readonly step: number;
  readonly append: number;
}

export interface SpeedLine {
  readonly id: string;
  /** By rising context. */
  readonly points: readonly SpeedPoint[];
  /** In words; null for f16. */
  readonly breakEven: string | null;
}

/** One backend and shape. f16, where it was measured, comes first. */
export interface SpeedGroup {
  readonly backend: string;
  /** In words. */
  readonly shape: string;
  /** Device and file. */
  readonly source: string;
  readonly contexts: readonly number[];
  readonly lines: readonly SpeedLine[];
}

export interface SpeedView {
  readonly groups: readonly SpeedGroup[];
  /** Ids of schemes of the report without a measured decode step. */
  readonly unmeasured: readonly string[];
}

interface Row {
  readonly id: string;
  readonly status: string;
  readonly fingerprint?: string | null;
}

/** Null without benchmarks. Steps of other schemes are left out, also of others under the same id. */
export function speedView(rows: readonly Row[], benches: readonly NamedBench[]): SpeedView | null {
  if (benches.length === 0) return null;
  const isShown = ({ scheme, fingerprint }: DecodeStep) =>
    scheme === F16.id || rows.some((row) => row.id === scheme && row.fingerprint === fingerprint);
  const groups = benches
    .flatMap(({ name, report }) =>
      stepGroups(decodeSteps(report).filter((step) => step.append !== null && isShown(step))).map(
        (steps) => groupOf(steps, name, report.backends),
      ),
    )
    .filter(({ lines }) => lines.some(({ id }) => id !== F16.id));
  const measured = new Set(groups.flatMap(({ lines }) => lines.map(({ id }) => id)));
  return {
    groups,
    unmeasured: rows
      .filter(({ id, status }) => status === 'measured' && id !== F16.id && !measured.has(id))
      .map(({ id }) => id),
  };
}

function groupOf(
  steps: readonly DecodeStep[],
  file: string,
  backends: NamedBench['report']['backends'],
): SpeedGroup {
  const { backend, shape } = steps[0] as DecodeStep;
  const ids = [...new Set(steps.map(({ scheme }) => scheme))];
  const device = backends.find(({ id }) => id === backend)?.device;
  return {
    backend,
    shape: shapeText(shape),
    source: device === undefined ? file : `${device}; ${file}`,
    contexts: [...new Set(steps.map((step) => step.shape.context))].sort((a, b) => a - b),
    lines: [...ids.filter((id) => id === F16.id), ...ids.filter((id) => id !== F16.id)].map(
      (id) => ({
        id,
        points: steps
          .filter(({ scheme }) => scheme === id)
          .map(pointOf)
          .sort(byContext),
        breakEven: id === F16.id ? null : breakEvenText(breakEven(steps, id)),
      }),
    ),
  };
}

function pointOf(step: DecodeStep): SpeedPoint {
  const { batch, tokens, context } = step.shape as BenchShape & { readonly context: number };
  return { context, step: perToken(step), append: (step.append as number) / (batch * tokens) };
}

function byContext(a: SpeedPoint, b: SpeedPoint): number {
  return a.context - b.context;
}
