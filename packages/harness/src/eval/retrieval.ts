/** Scores the answers to retrieval prompts by their log-probability under each scheme, against f16. */
import { LowbitKvError } from '@lowbit-kv/core';
import { F16 } from '../f16-scheme.js';
import { finiteOrNull } from '../report.js';
import { numbersCodec } from '../work/numbers.js';
import { type EvalContext, recordIdentity, timedRun, unlessRefused } from './eval-context.js';
import { inOrder } from './eval-row.js';
import { type PromptFacts, promptUnit } from './eval-work.js';
import { negativeLogProbability } from './logit-row.js';
import { receiveRows } from './receive-rows.js';
import type { EvalRetrieval } from './report.js';
import { RETRIEVAL_QUESTION, type RetrievalPrompt } from './retrieval-prompts.js';
import type { Subject, SubjectResult } from './subject.js';
import type { Metering } from './window-meter.js';

const ONE_NUMBER = numbersCodec(1);

/** Which prompt of how many. */
interface PromptPlace {
  readonly part: number;
  readonly parts: number;
}

/** Answers to a prompt go to the subjects. Throws MEASUREMENT_INVALID for one of f16 that is not finite. */
export async function measureAnswers(
  context: EvalContext,
  prompt: RetrievalPrompt,
  place: PromptPlace,
  subjects: readonly Subject[],
): Promise<void> {
  for (const subject of subjects) {
    if (subject.refused !== null) continue;
    const { id } = subject.identity;
    const work = () => answerOf(context, subject, prompt, place);
    const isBaseline = id === F16.id;
    const answer = isBaseline
      ? await work()
      : await unlessRefused(context, subject, promptUnit(place.part, id), work);
    if (answer === null) continue;
    if (isBaseline) requireFinite(answer, place.part, context.options.model.name);
    subject.answers.set(place.part, answer);
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
  prompts: readonly PromptFacts[],
  f16: SubjectResult,
  schemes: readonly SubjectResult[],
): EvalRetrieval {
  const answerOfF16 = (prompt: number) => f16.answers.get(prompt) as number;
  const withKey = prompts.flatMap(({ context, depth, keyPosition, tokens, answerTokens }, i) => {
    if (depth === null || keyPosition === null) return [];
    const alone = prompts.findIndex((other) => other.context === context && other.depth === null);
    return [
      {
        baseline: answerOfF16(i),
        prompt: {
          contextTokens: tokens,
          depth,
          keyPosition,
          answerTokens,
          withoutKey: finiteOrNull(answerOfF16(alone)),
        },
      },
    ];
  });
  const baselines = withKey.map(({ baseline }) => baseline);
  const rowOf = ({ identity: { id } }: SubjectResult, answers: readonly number[]) => ({
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
      ...schemes.map((subject) => rowOf(subject, inOrder(subject.answers))),
    ],
  };
}

/** Mean log-probability of the tokens of the answer. */
async function answerOf(
  context: EvalContext,
  subject: Subject,
  { tokens, answerTokens }: RetrievalPrompt,
  { part, parts }: PromptPlace,
): Promise<number> {
  const place = { phase: 'retrieval', id: subject.identity.id, part, parts } as const;
  // Equal tokens may ask for answers of another length.
  const identity = recordIdentity(context, 'answer', subject, [...tokens, answerTokens]);
  const kept = await context.records.read(identity, ONE_NUMBER);
  if (kept !== null) {
    subject.resumed.prompts.add(part);
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
  await context.records.write(identity, Float64Array.of(result), ONE_NUMBER);
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
