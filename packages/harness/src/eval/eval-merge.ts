/** The units of an evaluation, from all of its shards, put together. */
import { canonicalJson, LowbitKvError } from '@lowbit-kv/core';
import { F16 } from '../f16-scheme.js';
import type { UnmeasuredRow } from '../report.js';
import { numbersOfBytes } from '../work/numbers.js';
import type { EvalUnit } from './eval-shard.js';
import { type EvalWork, promptUnit, unitsOfRow, windowUnit } from './eval-work.js';
import {
  identityOf,
  type SubjectFacts,
  type SubjectIdentity,
  type SubjectResult,
} from './subject.js';
import { TIMES, windowFromNumbers, windowNumberCount } from './window-figures.js';

export type EvalUnits = ReadonlyMap<string, EvalUnit>;

/** Whether two results of one unit are equal but for their times. */
export function sameEvalUnit(a: EvalUnit, b: EvalUnit): boolean {
  if ('refused' in a || 'refused' in b) return canonicalJson(a) === canonicalJson(b);
  return timeless(a.figures).equals(timeless(b.figures));
}

/** Of a window, the numbers that are seconds become 0; a prompt has one number, its answer. */
function timeless(figures: string): Buffer {
  const bytes = Buffer.from(figures, 'base64');
  const size = Float64Array.BYTES_PER_ELEMENT;
  if (bytes.length > size) for (const at of TIMES) bytes.fill(0, at * size, (at + 1) * size);
  return bytes;
}

/** Units that need no result: their row was refused in an earlier one. */
export function unneededEvalUnits(work: EvalWork, units: EvalUnits): Set<string> {
  return new Set(
    work.schemes.flatMap(({ id }) => {
      const all = unitsOfRow(work, id);
      const first = all.findIndex((unit) => refusalOf(units.get(unit)) !== null);
      return first < 0 ? [] : all.slice(first + 1);
    }),
  );
}

/** Results of f16 and of the schemes, in order; the caller has seen to it that no unit that is needed is missing. */
export function evalResults(
  work: EvalWork,
  units: EvalUnits,
  facts: ReadonlyMap<string, SubjectFacts>,
): { readonly f16: SubjectResult; readonly others: readonly (SubjectResult | UnmeasuredRow)[] } {
  const measured = (identity: SubjectIdentity) => {
    const found = facts.get(identity.id);
    if (found === undefined) throw malformed(`there are no facts of ${identity.id}`);
    return { identity, facts: found, ...figuresOf(work, units, identity.id) };
  };
  return {
    f16: measured(identityOf(F16)),
    others: work.schemes.map(({ cost: _, ...identity }) => {
      const names = unitsOfRow(work, identity.id);
      const refusal = names.map((name) => refusalOf(units.get(name))).find((row) => row !== null);
      return refusal ?? measured(identity);
    }),
  };
}

function refusalOf(unit: EvalUnit | undefined): UnmeasuredRow | null {
  return unit !== undefined && 'refused' in unit ? unit.refused : null;
}

function figuresOf(work: EvalWork, units: EvalUnits, id: string) {
  const { windows, notedHeads, retrieval } = work;
  const shape = { predictions: windows.windowTokens - 1, heads: notedHeads };
  const parts = <T>(
    count: number,
    nameOf: (index: number, id: string) => string,
    numbers: number,
    decode: (numbers: Float64Array) => T,
  ) => {
    const values = new Map<number, T>();
    const resumed = new Set<number>();
    for (let index = 0; index < count; index++) {
      const name = nameOf(index, id);
      const unit = units.get(name);
      if (unit === undefined || 'refused' in unit) continue;
      const decoded = numbersOfBytes(Buffer.from(unit.figures, 'base64'), numbers);
      if (typeof decoded === 'string') throw malformed(`${name} has ${decoded}`);
      values.set(index, decode(decoded));
      if (unit.resumed) resumed.add(index);
    }
    return { values, resumed };
  };
  const ofWindows = parts(windows.count, windowUnit, windowNumberCount(shape), (numbers) =>
    windowFromNumbers(numbers, shape),
  );
  const prompts = retrieval?.prompts.length ?? 0;
  const answers = parts(prompts, promptUnit, 1, ([answer]) => answer as number);
  return {
    windows: ofWindows.values,
    answers: answers.values,
    resumed: { windows: ofWindows.resumed, prompts: answers.resumed },
  };
}

function malformed(message: string): LowbitKvError {
  return new LowbitKvError('SHARD_INVALID', {
    message,
    valid: 'shard files as --shard wrote them',
    next: 'Run the shards again.',
  });
}
