/** What every part of an evaluation shares, and one run of the model with its clock, progress and signal. */

import { refusedRow } from '../scheme-row.js';
import type { RecordIdentity, Records } from '../work/records.js';
import type { EvaluateOptions } from './evaluate-options.js';
import type { LogitsSink } from './model.js';
import type { ProgressCounter, ProgressPlace } from './progress.js';
import type { Subject } from './subject.js';
import type { Metering } from './window-meter.js';
import { tokensHash } from './windows.js';

export interface EvalContext {
  readonly options: EvaluateOptions;
  readonly records: Records;
  readonly progress: ProgressCounter;
  readonly now: () => number;
}

export interface TimedRun<Notes, Result> {
  readonly notes: Notes;
  readonly result: Result;
  /** Of the model, without the time that `metering` took of its rows. */
  readonly seconds: number;
}

/** Runs the model once over `tokens`. Throws the signal's reason as soon as rows come after it fired. */
export async function timedRun<Notes, Result>(
  { options: { model, signal }, progress, now }: EvalContext,
  place: ProgressPlace,
  tokens: number,
  metering: Metering<Result>,
  run: (sink: LogitsSink) => Promise<Notes>,
): Promise<TimedRun<Notes, Result>> {
  signal?.throwIfAborted();
  const started = now();
  let rows = 0;
  let metered = 0;
  const notes = await run((firstRow, logits) => {
    signal?.throwIfAborted();
    const arrived = now();
    metering.sink(firstRow, logits);
    const part = logits.length / model.vocabularySize;
    rows += part;
    progress.ran(part, place);
    metered += now() - arrived;
  });
  const seconds = (now() - started - metered) / 1000;
  signal?.throwIfAborted();
  const result = metering.result();
  // A model may leave out the row that predicts nothing.
  if (rows < tokens) progress.ran(tokens - rows, place);
  return { notes, result, seconds };
}

/** Does something for a row, in a unit of work. What says that its scheme does not fit becomes its refusal, and gives null. */
export async function unlessRefused<Result>(
  { progress }: EvalContext,
  subject: Subject,
  unit: string,
  work: () => Promise<Result>,
): Promise<Result | null> {
  try {
    return await work();
  } catch (error) {
    subject.refused = { unit, row: refusedRow(error, subject.identity) };
    progress.dropped(subject.identity.id);
    return null;
  }
}

export function recordIdentity(
  { options: { model, settings = {} } }: EvalContext,
  kind: 'window' | 'answer',
  subject: Subject,
  tokens: readonly number[],
): RecordIdentity {
  return {
    kind,
    model: model.fingerprint,
    plan: subject.facts.plan,
    tokens: tokensHash(tokens),
    settings,
  };
}
