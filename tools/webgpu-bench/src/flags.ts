/**
 * Flags of the benchmarks.
 */
import { parseArgs } from 'node:util';
import { LowbitKvError } from '@lowbit-kv/core';

export type Precision = 'exact' | 'fast';

export interface Shape {
  readonly batch: number;
  readonly tokens: number;
  /** Query heads of a kv head. */
  readonly group: number;
  /** Query tokens of a sequence. */
  readonly queries: number;
}

export interface Flags {
  /** Parts of names; empty for all of the table. */
  readonly plans: readonly string[];
  readonly precisions: readonly Precision[];
  readonly shapes: readonly Shape[];
  /** 0: as many as do not fit into the cache of a GPU together. */
  readonly layers: number;
  readonly samples: number;
  readonly warmMicroseconds: number;
  /** Bytes a second that the byte floor assumes. */
  readonly bandwidth: number;
  readonly speed: boolean;
  readonly errors: boolean;
  readonly errorTokens: number;
  readonly out: string | undefined;
}

/** The table that the kernels are held to, without the rows of eight query tokens. */
const TABLE: readonly (readonly [batch: number, tokens: number])[] = [
  [8, 131072],
  [1, 131072],
  [1, 8192],
];
const TERABYTE = 1e12;

export function readFlags(args: readonly string[]): Flags {
  const { values } = parseArgs({
    args: [...args],
    options: {
      plan: { type: 'string', default: '' },
      precision: { type: 'string', default: 'fast,exact' },
      batch: { type: 'string' },
      tokens: { type: 'string' },
      group: { type: 'string', default: '4' },
      queries: { type: 'string', default: '1' },
      layers: { type: 'string', default: '0' },
      samples: { type: 'string', default: '15' },
      'warm-ms': { type: 'string', default: '100' },
      bandwidth: { type: 'string', default: '4.48' },
      'no-speed': { type: 'boolean', default: false },
      'no-errors': { type: 'boolean', default: false },
      'error-tokens': { type: 'string', default: '1500' },
      out: { type: 'string' },
    },
  });
  const batches = counts('batch', values.batch ?? '');
  const tokens = counts('tokens', values.tokens ?? '');
  const pairs =
    batches.length === 0 && tokens.length === 0
      ? TABLE
      : orDefault(batches, 8).flatMap((b) => orDefault(tokens, 131072).map((t) => [b, t] as const));
  const groups = counts('group', values.group);
  const queries = counts('queries', values.queries);
  return {
    plans: words(values.plan),
    precisions: words(values.precision).map(precisionOf),
    shapes: pairs.flatMap(([b, t]) =>
      groups.flatMap((group) =>
        queries.map((count) => ({ batch: b, tokens: t, group, queries: count })),
      ),
    ),
    layers: number('layers', values.layers),
    samples: number('samples', values.samples),
    warmMicroseconds: number('warm-ms', values['warm-ms']) * 1000,
    bandwidth: number('bandwidth', values.bandwidth) * TERABYTE,
    speed: !values['no-speed'],
    errors: !values['no-errors'],
    errorTokens: number('error-tokens', values['error-tokens']),
    out: values.out,
  };
}

function precisionOf(word: string): Precision {
  if (word === 'exact' || word === 'fast') return word;
  throw wrong('precision', word, 'fast, exact or both, with a comma between');
}

function counts(flag: string, text: string): number[] {
  return words(text).map((word) => number(flag, word));
}

function number(flag: string, text: string): number {
  const value = Number(text);
  if (text !== '' && Number.isFinite(value) && value >= 0) return value;
  throw wrong(flag, text, 'numbers from 0 on, with commas between');
}

function words(text: string): string[] {
  return text.split(',').filter((word) => word !== '');
}

function orDefault(values: readonly number[], value: number): readonly number[] {
  return values.length === 0 ? [value] : values;
}

function wrong(flag: string, value: string, valid: string): LowbitKvError {
  return new LowbitKvError('OPTION_INVALID', {
    message: `--${flag} cannot be read`,
    value,
    valid,
    next: 'Correct the flag.',
  });
}
