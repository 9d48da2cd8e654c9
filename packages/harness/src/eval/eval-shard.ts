/** A shard of an evaluation: some of its units, measured. */
import * as z from 'zod';
import { unmeasurable } from '../report.js';
import { bytesOfNumbers } from '../work/numbers.js';
import { partition } from '../work/partition.js';
import { isSameShard } from '../work/same-work.js';
import { type EvalShard, headerOf, type Shard, type ShardContext } from '../work/shard.js';
import { checkShard, type ShardPart } from '../work/shard-part.js';
import { type EvalWork, evalGroups, promptUnit, unitsOfRow, windowUnit } from './eval-work.js';
import type { EvaluateOptions } from './evaluate-options.js';
import { Evaluation } from './evaluation.js';
import { Subject } from './subject.js';
import { windowToNumbers } from './window-figures.js';

/** Numbers as base64 (`numbersOfBytes`): of a window its figures, of a prompt the log-probability of its answer. */
const measured = z.strictObject({ figures: z.string(), resumed: z.boolean() });

/** What a unit of an evaluation gives. */
export const evalUnitSchema = z.union([measured, z.strictObject({ refused: unmeasurable })]);
export type EvalUnit = z.infer<typeof evalUnitSchema>;

/** Ids of the schemes that a shard measures: they alone have to be calibrated for it. */
export function evalShardSchemes(options: EvaluateOptions, part: ShardPart): string[] {
  const { work } = new Evaluation(options);
  const own = ownUnits(work, part);
  const ids = work.schemes.map(({ id }) => id);
  return ids.filter((id) => unitsOfRow(work, id).some((unit) => own.has(unit)));
}

/**
 * Measures a shard, or gives `previous` back when it is this very shard. Throws what `evaluate` throws, and OPTION_INVALID for
 * a shard that there is not.
 */
export async function evaluateShard(
  options: EvaluateOptions,
  part: ShardPart,
  context: ShardContext,
  previous?: Shard,
): Promise<EvalShard> {
  const evaluation = new Evaluation(options);
  const { work } = evaluation;
  const own = ownUnits(work, part);
  const header = {
    kind: 'eval',
    ...headerOf(context),
    shard: { ...part },
    work,
    facts: evaluation.factsOf(own),
  } as const;
  if (previous?.header.kind === 'eval' && isSameShard(previous.header, { ...header, damaged: [] }))
    return previous as EvalShard;
  const { f16, others, damaged } = await evaluation.measure(own);
  const subjects = [f16, ...others].filter((other) => other instanceof Subject);
  const unplanned = others.filter((other) => 'status' in other);
  return {
    header: { ...header, damaged: [...damaged] },
    units: new Map([
      ...subjects.flatMap(unitsOf),
      ...unplanned.map((row): [string, EvalUnit] => {
        const first = unitsOfRow(work, row.id).find((unit) => own.has(unit)) as string;
        return [first, { refused: row }];
      }),
    ]),
  };
}

function ownUnits(work: EvalWork, part: ShardPart): Set<string> {
  const { index, of } = checkShard(part);
  const shards = partition(evalGroups(work), of);
  return new Set([...shards].filter(([, shard]) => shard === index).map(([unit]) => unit));
}

function unitsOf({ identity: { id }, windows, answers, resumed, refused }: Subject) {
  const encoded = (numbers: Float64Array, kept: boolean) => ({
    figures: bytesOfNumbers(numbers).toString('base64'),
    resumed: kept,
  });
  const units: [string, EvalUnit][] = [
    ...[...windows].map(([window, figures]): [string, EvalUnit] => [
      windowUnit(window, id),
      encoded(windowToNumbers(figures), resumed.windows.has(window)),
    ]),
    ...[...answers].map(([prompt, answer]): [string, EvalUnit] => [
      promptUnit(prompt, id),
      encoded(Float64Array.of(answer), resumed.prompts.has(prompt)),
    ]),
  ];
  if (refused !== null) units.push([refused.unit, { refused: refused.row }]);
  return units;
}
