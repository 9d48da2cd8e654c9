/**
 * A step of a program: appended and attended layer by layer, and ended in every way.
 */
import type { Step } from '../cache/step.js';
import { ensureRefused } from '../contract/check.js';
import { LowbitKvError } from '../errors.js';
import { createDraws } from '../testing/draws.js';
import { attendCommitted, compareAttention, type RunContext } from './attend-command.js';
import type { TokenRows } from './class-model.js';
import type { StepCommand } from './commands.js';
import { drawnQueries, drawnRows, joinedRows, rowsOfHeads } from './drawn-tensors.js';
import type { Pair } from './pair.js';
import type { SequenceModel } from './sequence-model.js';
import { LAYERS, type Setup } from './setups.js';

interface OpenStep {
  readonly step: Step;
  readonly command: StepCommand;
  /** `[layer][row]`. */
  readonly rows: readonly TokenRows[][];
  readonly counts: readonly number[];
  readonly draw: () => number;
  readonly old: readonly SequenceModel[];
  readonly next: readonly SequenceModel[];
}

/** `others`: sequences that are not in the step. Models change when the step was committed. */
export async function runStep(
  context: RunContext,
  { plan }: Setup,
  command: StepCommand,
  pairs: readonly Pair[],
  others: readonly Pair[],
): Promise<void> {
  const counts = pairs.map((_, i) => command.entries[i]?.tokens ?? 0);
  const total = counts.reduce((sum, count) => sum + count, 0);
  const draw = createDraws(command.seed);
  const rows = Array.from({ length: LAYERS }, () =>
    Array.from({ length: total }, () => drawnRows(draw)),
  );
  let step: Step;
  try {
    const entries = pairs.map(({ sequence }, i) => ({ sequence, tokens: counts[i] as number }));
    step = context.cache.step(entries);
  } catch (error) {
    if (!LowbitKvError.is(error, 'OUT_OF_PAGES')) throw error;
    context.tally.add('out of pages');
    return;
  }
  const old = pairs.map(({ model }) => model);
  const next = pairs.map(({ model }, i) => {
    const first = counts.slice(0, i).reduce((sum, count) => sum + count, 0);
    const copy = model.copy();
    const added = rows.map((layer) => layer.slice(first, first + (counts[i] as number)));
    copy.append(plan.layers.map((unit) => rowsOfHeads(added, unit)));
    copy.takeStatistics(plan.layers);
    return copy;
  });
  try {
    const open = { step, command, rows, counts, draw, old, next };
    const packsBefore = plan.classes[0]?.packing === 'before-attention';
    if (!(await appendLayers(context, open, total, packsBefore))) return;
    if (command.meanwhile && others.length > 0) {
      await attendCommitted(context, others, 1);
      context.tally.add('attended beside an open step');
    }
    await end(context, open, total, pairs);
  } finally {
    step.abandon();
  }
}

/** False when the step failed, as the command has it. */
async function appendLayers(
  context: RunContext,
  open: OpenStep,
  total: number,
  packsBefore: boolean,
): Promise<boolean> {
  const { step, command, rows, counts } = open;
  for (let layer = 0; layer < LAYERS; layer++) {
    if (command.end === 'missing' && layer === command.badLayer) return true;
    const key = joinedRows(rows[layer] as TokenRows[], 'key');
    const value = joinedRows(rows[layer] as TokenRows[], 'value');
    if (command.end === 'non-finite' && layer === command.badLayer && total > 0) {
      value.data[value.data.length - 1] = 0x7e00;
      await ensureRefused(() => step.append(layer, key, value), ['NON_FINITE'], 'a NaN');
      context.tally.add('failed steps');
      return false;
    }
    step.append(layer, key, value);
    const queries = counts.map((count) => Math.max(count - command.lessQueries, 0));
    await attendInStep(context, open, layer, queries, packsBefore);
  }
  return true;
}

async function attendInStep(
  context: RunContext,
  { step, draw, old, next }: OpenStep,
  layer: number,
  counts: readonly number[],
  packsBefore: boolean,
): Promise<void> {
  const total = counts.reduce((sum, count) => sum + count, 0);
  const query = drawnQueries(draw, total);
  const result = await step.attend(layer, query, { queries: counts, logSumExp: true }).read();
  let first = 0;
  for (const [i, queries] of counts.entries()) {
    const [before, after] = [old[i] as SequenceModel, next[i] as SequenceModel];
    const seen = (tensor: 'key' | 'value') =>
      context.expected.valuesInStep(before, after, layer, tensor, packsBefore);
    const span = { first, queries, length: after.length };
    compareAttention(context, result, query, span, layer, seen('key'), seen('value'));
    first += queries;
    if (queries > 0)
      context.tally.add(packsBefore ? 'attended after packing' : 'attended before packing');
  }
}

async function end(
  { tally }: RunContext,
  { step, command, next }: OpenStep,
  total: number,
  pairs: readonly Pair[],
): Promise<void> {
  if (command.end === 'missing' && total > 0)
    await ensureRefused(() => step.commit(), ['STEP_STATE'], 'commit without every layer');
  if (command.end === 'missing' || command.end === 'abandon') {
    tally.add('abandoned steps');
    return;
  }
  await step.commit();
  for (const [i, pair] of pairs.entries()) {
    pair.model = next[i] as SequenceModel;
    pair.longest = Math.max(pair.longest, pair.model.length);
  }
  tally.add('committed steps');
}
