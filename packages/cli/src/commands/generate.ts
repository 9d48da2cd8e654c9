/**
 * `lowbit-kv generate`: a language model writes, its keys and values really stored as the scheme says.
 */
import { resolve } from 'node:path';
import { type CacheStats, createPlan, LowbitKvError, type Plan, planBytes } from '@lowbit-kv/core';
import { F16 } from '@lowbit-kv/harness';
import { createSampler } from '@lowbit-kv/model-onnx';
import type { AttentionChoice } from '../attention-choice.js';
import { readCalibrations } from '../calibration-file.js';
import { noteOtherModels } from '../model/calibration-checks.js';
import { compareWithF16, differenceText } from '../model/compare-with-f16.js';
import { findModel, type ModelOptions } from '../model/open-model.js';
import { type PromptOptions, promptTokens } from '../model/prompt.js';
import { type StreamedText, streamText } from '../model/stream-text.js';
import { openWritingModel, type WritingModel } from '../model/writing-model.js';
import { megabytes } from '../numbers-as-text.js';
import { openRegistry } from '../open-registry.js';
import type { NamedScheme } from '../schemes/builtin-schemes.js';
import { resolveSchemes } from '../schemes/resolve-schemes.js';
import { INTERRUPTED, type Terminal } from '../terminal.js';

export interface GenerateCommandOptions extends ModelOptions, PromptOptions {
  readonly scheme: string;
  readonly maxTokens: number;
  readonly temperature?: number;
  readonly topP?: number;
  readonly topK?: number;
  readonly seed?: number;
  readonly attention: AttentionChoice;
  readonly backend: string;
  readonly allowEmulation?: boolean;
  readonly calibration?: string;
  readonly againstF16?: boolean;
  readonly threads?: number;
}

/** Text to stdout as it comes, everything else to stderr. Exit code 130 when it was interrupted: the text stays. */
export async function generateText(
  terminal: Terminal,
  options: GenerateCommandOptions,
): Promise<number> {
  const { backend, threads } = options;
  const sampler = samplerOf(options);
  const named = await oneScheme(options.scheme, terminal);
  const kv = await openRegistry(terminal, [], backend);
  const { files, folder, tokenizer } = await findModel(terminal, options);
  const prompt = await promptTokens(folder, tokenizer, options);
  const settings = threads === undefined ? {} : { threads };
  const model = await openWritingModel(files, options.attention, settings);
  try {
    const plan = await planFor(terminal, named, model, options);
    requireRoom(prompt.length, options.maxTokens, model.contextLimit);
    const run = await model.openRun(plan, {
      backend: kv.backends.get(backend),
      tokens: prompt.length + options.maxTokens,
      allowEmulation: options.allowEmulation ?? false,
    });
    const note = model.note(plan);
    if (note !== null) terminal.note(note);
    try {
      const { maxTokens } = options;
      const text = await streamText(terminal, run, tokenizer, { prompt, sampler, maxTokens });
      const nobodyReads = text.end === 'interrupted' && terminal.readerGone.aborted;
      terminal.note(summary(prompt.length, text, nobodyReads ? 'stdout closed' : ENDS[text.end]));
      terminal.note(cacheLine(await run.stats(), plan, run.length));
      if (options.againstF16 === true && text.end !== 'interrupted') {
        const signal = terminal.interruption();
        const reference = kv.backends.get('reference');
        const difference = await compareWithF16(model, reference, prompt, text.tokens, signal);
        terminal.note(differenceText(difference, tokenizer));
      }
      return text.end === 'interrupted' && !nobodyReads ? INTERRUPTED : 0;
    } finally {
      await run.dispose();
    }
  } finally {
    await model.dispose();
  }
}

function samplerOf({ temperature, topP, topK, seed, againstF16 }: GenerateCommandOptions) {
  if (againstF16 === true && (temperature ?? 0) > 0) {
    throw new LowbitKvError('OPTION_INVALID', {
      message: 'a drawn text has no f16 text to be compared with',
      value: temperature,
      valid: 'temperature 0',
      next: 'Leave --temperature or --against-f16 out.',
      where: { field: 'againstF16' },
    });
  }
  const [idle] = Object.entries({ topP, topK, seed }).filter(([, value]) => value !== undefined);
  if (idle !== undefined && (temperature ?? 0) === 0) {
    throw new LowbitKvError('OPTION_INVALID', {
      message: 'nothing is drawn at temperature 0',
      value: idle[1],
      valid: 'a temperature above 0 beside it',
      next: 'Add --temperature, for example 0.8, or leave the option out.',
      where: { field: idle[0] },
    });
  }
  return createSampler({
    ...(temperature !== undefined && { temperature }),
    ...(topP !== undefined && { topP }),
    ...(topK !== undefined && { topK }),
    ...(seed !== undefined && { seed }),
  });
}

async function oneScheme(name: string, terminal: Terminal): Promise<NamedScheme> {
  if (name === F16.id) return { scheme: F16, source: 'the baseline' };
  const named = await resolveSchemes([name], terminal);
  const [only, ...others] = named;
  if (only !== undefined && others.length === 0) return only;
  throw new LowbitKvError('OPTION_INVALID', {
    message: 'a text is generated with one scheme',
    value: name,
    valid: named.map(({ scheme }) => scheme.id),
    next: 'Name one of these presets.',
    where: { field: 'scheme' },
  });
}

async function planFor(
  terminal: Terminal,
  { scheme, calibration: brought }: NamedScheme,
  { geometry, fingerprint }: WritingModel,
  { calibration: file }: GenerateCommandOptions,
): Promise<Plan> {
  const given =
    file === undefined ? {} : await readCalibrations(resolve(terminal.directory, file), [scheme]);
  const calibration = given[scheme.id] ?? brought;
  if (calibration === undefined) return createPlan(scheme, geometry);
  noteOtherModels(terminal, { [scheme.id]: calibration }, fingerprint);
  return createPlan(scheme, geometry, { calibration });
}

/** Throws OPTION_INVALID where prompt and text do not fit the model's context. */
function requireRoom(prompt: number, wanted: number, contextLimit: number | null): void {
  if (contextLimit === null || prompt + wanted <= contextLimit) return;
  throw new LowbitKvError('OPTION_INVALID', {
    message: 'prompt and text do not fit the context of the model',
    value: `${prompt} + ${wanted} tokens`,
    valid: `${contextLimit} tokens`,
    next:
      prompt < contextLimit
        ? `Ask for at most ${contextLimit - prompt} tokens (--max-tokens), or shorten the prompt.`
        : 'Shorten the prompt.',
    where: { field: 'maxTokens' },
  });
}

const ENDS = { eos: 'end of text', length: '--max-tokens', interrupted: 'interrupted' } as const;

function summary(
  prompt: number,
  { tokens, promptSeconds, seconds }: StreamedText,
  end: string,
): string {
  const count = tokens.length;
  if (count === 0) return 'interrupted before the first token';
  const rate = count > 1 ? `, ${((count - 1) / seconds).toFixed(1)} tokens/s` : '';
  const promptRate = (prompt / promptSeconds).toFixed(0);
  return `${count} tokens${rate} (${end}); prompt of ${prompt} tokens in ${promptSeconds.toFixed(2)} s, ${promptRate} tokens/s`;
}

/** What the keys and values take, and what they would take in f16. */
function cacheLine({ bytes }: CacheStats, plan: Plan, tokens: number): string {
  const held = bytes.live - bytes.alignment;
  const { f16Total } = planBytes(plan, tokens);
  return `cache of ${tokens} tokens: ${megabytes(held)} (pages ${megabytes(bytes.live)}, allocated ${megabytes(bytes.allocated)}); f16 would take ${megabytes(f16Total)}, ${(f16Total / held).toFixed(2)} times as much`;
}
