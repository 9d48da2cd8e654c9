/** Scores the answers to retrieval prompts by their log-probability under each scheme, against f16. */
import { LowbitKvError } from '@lowbit-kv/core';
import { finiteOrNull } from '../report.js';
import { type EvalContext, recordIdentity, timedRun, unlessRefused } from './eval-context.js';
import { negativeLogProbability } from './logit-row.js';
import { receiveRows } from './receive-rows.js';
import type { EvalRetrieval } from './report.js';
import { RETRIEVAL_QUESTION, type RetrievalPrompt } from './retrieval-prompts.js';
import type { Subject } from './subject.js';
import type { Metering } from './window-meter.js';

/** Answers go to the subjects: of all prompts to f16, of those with a key to the others. */
export async function measureRetrieval(
  context: EvalContext,
  prompts: readonly RetrievalPrompt[],
  f16: Subject,
  schemes: readonly Subject[],
): Promise<void> {
  for (const [part, prompt] of prompts.entries()) {
    const baseline = await answerOf(context, f16, prompt, part, prompts.length);
    requireFinite(baseline, part, context.options.model.name);
    f16.answers.push(baseline);
    if (prompt.depth === null) continue;
    for (const subject of schemes) {
      if (subject.refused !== null) continue;
      const answer = await unlessRefused(context, subject, () =>
        answerOf(context, subject, prompt, part, prompts.length),
      );
      if (answer !== null) subject.answers.push(answer);
    }
  }
}

function requireFinite(answer: number, part: number, model: string): void {
  if (Number.isFinite(answer)) return;
  throw new LowbitKvError('MEASUREMENT_INVALID', {
    message: `under f16 the answer to retrieval prompt ${part} has no finite log-probability`,
    value: answer,
    valid: 'a finite number',
    next: `The model ${model} is at fault.`,
  });
}

/** The section of a report. */
export function retrievalSection(
  prompts: readonly RetrievalPrompt[],
  f16: Subject,
  schemes: readonly Subject[],
): EvalRetrieval {
  const withKey = prompts.flatMap(({ context, depth, keyPosition, tokens, answerTokens }, i) => {
    if (depth === null || keyPosition === null) return [];
    const alone = prompts.findIndex((other) => other.context === context && other.depth === null);
    return [
      {
        baseline: f16.answers[i] as number,
        prompt: {
          contextTokens: tokens.length,
          depth,
          keyPosition,
          answerTokens,
          withoutKey: finiteOrNull(f16.answers[alone] as number),
        },
      },
    ];
  });
  const baselines = withKey.map(({ baseline }) => baseline);
  const rowOf = ({ identity: { id } }: Subject, answers: readonly number[]) => ({
    id,
    answers: answers.map((answer, i) => ({
      logProbability: finiteOrNull(answer),
      change: finiteOrNull(answer - (baselines[i] as number)),
    })),
  });
  return {
    question: RETRIEVAL_QUESTION.trim(),
    prompts: withKey.map(({ prompt }) => prompt),
    rows: [
      rowOf(f16, baselines),
      ...schemes
        .filter(({ refused }) => refused === null)
        .map((subject) => rowOf(subject, subject.answers)),
    ],
  };
}

/** Mean log-probability of the tokens of the answer. */
async function answerOf(
  context: EvalContext,
  subject: Subject,
  { tokens, answerTokens }: RetrievalPrompt,
  part: number,
  parts: number,
): Promise<number> {
  const place = { phase: 'retrieval', id: subject.identity.id, part, parts } as const;
  // Equal tokens may ask for answers of another length.
  const identity = recordIdentity(context, 'retrieval', subject, [...tokens, answerTokens]);
  const kept = await context.records.read(identity, 1);
  if (kept !== null) {
    subject.resumed.prompts++;
    context.progress.resumed(tokens.length, place);
    return kept[0] as number;
  }
  const run = await subject.open();
  const { result } = await timedRun(
    context,
    place,
    tokens.length,
    answerMeter(context, tokens, answerTokens),
    (sink) => run.run(tokens, sink),
  );
  await context.records.write(identity, Float64Array.of(result));
  return result;
}

function answerMeter(
  { options: { model } }: EvalContext,
  tokens: readonly number[],
  answerTokens: number,
): Metering<number> {
  const { vocabularySize, name } = model;
  let sum = 0;
  const { sink, finish } = receiveRows(
    { windowTokens: tokens.length, vocabularySize, name },
    (row, logits) => {
      if (row + 1 < tokens.length - answerTokens) return;
      sum -= negativeLogProbability(logits, tokens[row + 1] as number);
    },
  );
  return {
    sink,
    result() {
      finish();
      return sum / answerTokens;
    },
  };
}
