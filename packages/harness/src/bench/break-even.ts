/**
 * Decode steps of a benchmark, append and attention together, and from which context on those of a scheme are faster than
 * those of f16.
 */
import { F16 } from '../f16-scheme.js';
import type { BenchMeasuredRow, BenchReport, BenchShape } from './report.js';

/** Of one layer, medians in microseconds, all sequences together. */
export interface DecodeStep {
  readonly scheme: string;
  readonly fingerprint: string;
  readonly backend: string;
  readonly shape: BenchShape & { readonly context: number };
  readonly attend: number;
  /** Null where appending was not measured at this shape. */
  readonly append: number | null;
}

export type BreakEven =
  /** Slower at `between[0]`, faster at `between[1]` and beyond; `context` lies on the line between. */
  | { readonly kind: 'from'; readonly context: number; readonly between: readonly [number, number] }
  /** Faster at every measured context, of which this is the shortest. */
  | { readonly kind: 'always'; readonly shortest: number }
  /** Not faster at the longest measured context. */
  | { readonly kind: 'never'; readonly longest: number }
  | { readonly kind: 'not measured'; readonly reason: string };

/** One for each measured attention, in the order of the report. */
export function decodeSteps({ rows }: BenchReport): DecodeStep[] {
  const measured = rows.filter((row): row is BenchMeasuredRow => row.status === 'measured');
  const keyOf = ({ scheme, fingerprint, backend, shape }: BenchMeasuredRow) =>
    JSON.stringify([scheme, fingerprint, backend, { ...shape, context: null }]);
  const appends = new Map(
    measured
      .filter(({ operation }) => operation === 'append')
      .map((row) => [keyOf(row), row.microseconds.median]),
  );
  return measured.flatMap((row) => {
    const { scheme, fingerprint, backend, shape } = row;
    const { context } = shape;
    if (row.operation !== 'attend' || context === null) return [];
    return [
      {
        ...{ scheme, fingerprint, backend, shape: { ...shape, context } },
        attend: row.microseconds.median,
        append: appends.get(keyOf(row)) ?? null,
      },
    ];
  });
}

/** Steps that a scheme is compared with f16 among: those that differ in scheme and context alone. */
export function stepGroups(steps: readonly DecodeStep[]): DecodeStep[][] {
  const groups = new Map<string, DecodeStep[]>();
  for (const step of steps) {
    const key = JSON.stringify([step.backend, { ...step.shape, context: null }]);
    groups.set(key, [...(groups.get(key) ?? []), step]);
  }
  return [...groups.values()];
}

/** `steps` are one of `stepGroups`, f16 among them. */
export function breakEven(steps: readonly DecodeStep[], scheme: string): BreakEven {
  const timesOf = (id: string) =>
    new Map(
      steps.flatMap(({ scheme: own, shape, attend, append }) =>
        own === id && append !== null ? [[shape.context, attend + append] as const] : [],
      ),
    );
  const [f16, own] = [timesOf(F16.id), timesOf(scheme)];
  for (const [id, times] of [
    [F16.id, f16],
    [scheme, own],
  ] as const)
    if (times.size === 0)
      return { kind: 'not measured', reason: `no append with attention of ${id} at this shape` };
  const gains = [...own]
    .flatMap(([context, time]) => {
      const other = f16.get(context);
      return other === undefined ? [] : [{ context, gain: other - time }];
    })
    .sort((a, b) => a.context - b.context);
  const [first] = gains;
  const last = gains.at(-1);
  if (first === undefined || last === undefined)
    return { kind: 'not measured', reason: 'no context that f16 was measured at' };
  if (last.gain <= 0) return { kind: 'never', longest: last.context };
  const slower = gains.findLast(({ gain }) => gain <= 0);
  if (slower === undefined) return { kind: 'always', shortest: first.context };
  const faster = gains[gains.indexOf(slower) + 1] as typeof first;
  const share = -slower.gain / (faster.gain - slower.gain);
  const context = slower.context + share * (faster.context - slower.context);
  return { kind: 'from', context, between: [slower.context, faster.context] };
}
