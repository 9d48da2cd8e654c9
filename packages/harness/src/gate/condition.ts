/** Conditions of a gate as text: `kl.p99>0.1`, `ppl.delta > 2%`. */
import { LowbitKvError } from '@lowbit-kv/core';
import { nearest } from '../edit-distance.js';
import { gateMetrics, type ReportKind } from './report-figures.js';

const OPERATORS = ['>=', '<=', '>', '<'] as const;
type Operator = (typeof OPERATORS)[number];

export interface GateCondition {
  /** As it was written, without spaces. */
  readonly text: string;
  readonly metric: string;
  readonly operator: Operator;
  /** 2% is 0.02. */
  readonly limit: number;
  readonly percent: boolean;
}

const FORM = /^([^\s<>=%]+)\s*(>=|<=|>|<)\s*([+-]?(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?)\s*(%?)$/i;

/**
 * A condition on figures of one kind of report. Throws OPTION_INVALID for another form, an unknown metric, and percent of a
 * figure that is no ratio.
 */
export function parseCondition(text: string, kind: ReportKind): GateCondition {
  const condition = parseForm(text, kind);
  const unit = gateMetrics(kind).find(({ name }) => name === condition.metric)?.unit;
  if (condition.percent && unit !== 'ratio') {
    const ratios = gateMetrics(kind).filter((metric) => metric.unit === 'ratio');
    throw refusal(`${condition.metric} is in ${unit}, which has no percent`, text, {
      valid: ratios.length === 0 ? 'a number without %' : ratios.map(({ name }) => name),
      next: 'Write the limit as a number.',
    });
  }
  return condition;
}

/** A condition on the change between two reports: percent is the relative change, a plain number the absolute one. */
export function parseChangeCondition(text: string, kind: ReportKind): GateCondition {
  return parseForm(text, kind);
}

/** Whether a value crosses the limit. What is not finite crosses every limit. */
export function crosses(value: number | null, { operator, limit }: GateCondition): boolean {
  if (value === null) return true;
  if (operator === '>') return value > limit;
  if (operator === '<') return value < limit;
  return operator === '>=' ? value >= limit : value <= limit;
}

function parseForm(text: string, kind: ReportKind): GateCondition {
  const [, metric, operator, number, sign] = FORM.exec(text.trim()) ?? [];
  const limit = Number(number) / (sign === '%' ? 100 : 1);
  if (metric === undefined || !Number.isFinite(limit)) {
    throw refusal('this is no condition', text, {
      valid: `METRIC, one of ${OPERATORS.join(' ')}, and a number, such as ${EXAMPLE[kind]}`,
      next: 'Put it in quotes, or the shell takes > for a file.',
    });
  }
  const names = gateMetrics(kind).map(({ name }) => name);
  if (!names.includes(metric)) {
    const near = nearest(metric, names);
    throw refusal(`${kind} reports have no metric ${metric}`, text, {
      valid: names,
      next: near === undefined ? 'Choose one of these.' : `Did you mean ${near}?`,
    });
  }
  return {
    text: `${metric}${operator}${number}${sign}`,
    metric,
    operator: operator as Operator,
    limit,
    percent: sign === '%',
  };
}

const EXAMPLE = { compare: 'output.worstHead>0.25', eval: 'kl.p99>0.1' } as const;

function refusal(
  message: string,
  value: string,
  { valid, next }: { readonly valid: string | readonly string[]; readonly next: string },
): LowbitKvError {
  return new LowbitKvError('OPTION_INVALID', {
    ...{ message, value, valid, next },
    where: { field: 'failIf' },
  });
}
