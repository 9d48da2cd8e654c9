/**
 * `lowbit-kv generate`: a language model writes, its keys and values really stored as the scheme says.
 */
import { resolve } from 'node:path';
import {
  type CacheStats,
  createLowbitKv,
  createPlan,
  type Geometry,
  LowbitKvError,
  type Plan,
  planBytes,
} from '@lowbit-kv/core';
import { F16 } from '@lowbit-kv/harness';
import {
  createSampler,
  type GenerationEnd,
  generate,
  openCutDecoder,
  openTokenRun,
} from '@lowbit-kv/model-onnx';
import { createBackends } from '../backends.js';
import { readCalibrations } from '../calibration-file.js';
import { compareWithF16, differenceText } from '../model/compare-with-f16.js';
import { findModel, type ModelOptions } from '../model/open-model.js';
import { type PromptOptions, promptTokens } from '../model/prompt.js';
import { megabytes } from '../numbers-as-text.js';
import type { NamedScheme } from '../schemes/builtin-schemes.js';
import { resolveSchemes } from '../schemes/resolve-schemes.js';
import type { Terminal } from '../terminal.js';

export interface GenerateCommandOptions extends ModelOptions, PromptOptions {
  readonly scheme: string;
  readonly maxTokens: number;
  readonly temperature?: number;
  readonly topP?: number;
  readonly topK?: number;
  readonly seed?: number;
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
  const { temperature, topP, topK, seed, backend, threads } = options;
  const sampler = createSampler({
    ...(temperature !== undefined && { temperature }),
    ...(topP !== undefined && { topP }),
    ...(topK !== undefined && { topK }),
    ...(seed !== undefined && { seed }),
  });
  if (options.againstF16 === true && (temperature ?? 0) > 0) throw onlyGreedy(temperature);
  const named = await oneScheme(options.scheme, terminal);
  const found = await findModel(terminal, options);
  const prompt = await promptTokens(found, options);
  const decoder = await openCutDecoder(found.files, threads === undefined ? {} : { threads });
  try {
    const plan = await planFor(terminal, named, decoder.geometry, options);
    const maxTokens = roomFor(prompt.length, options.maxTokens, decoder.contextLimit);
    const kv = createLowbitKv({
      schemes: named.scheme === F16 ? [] : [named.scheme],
      backends: await createBackends(backend),
    });
    const run = await openTokenRun(decoder, plan, {
      backend: kv.backends.get(backend),
      tokens: prompt.length + maxTokens,
      allowEmulation: options.allowEmulation ?? false,
    });
    const signal = terminal.interruption();
    const stream = found.tokenizer.createTextStream();
    const tokens: number[] = [];
    const clock = { started: performance.now(), first: 0, last: 0 };
    let end: GenerationEnd;
    try {
      const { eosIds } = found.tokenizer;
      const steps = generate(run, { prompt, sampler, maxTokens, eosIds, signal });
      while (true) {
        const step = await steps.next();
        clock.last = performance.now();
        if (step.done === true) {
          end = step.value;
          break;
        }
        if (tokens.length === 0) clock.first = clock.last;
        tokens.push(step.value.token);
        terminal.write(stream.push(step.value.token));
      }
    } finally {
      // Whatever ends it, the text that came stays, whole.
      terminal.write(`${stream.flush()}\n`);
    }
    terminal.note(summary(prompt.length, tokens.length, end, clock));
    terminal.note(cacheLine(await run.stats(), plan, run.length));
    await run.dispose();
    if (options.againstF16 === true) {
      const difference = await compareWithF16(decoder, prompt, tokens);
      terminal.note(differenceText(difference, found.tokenizer));
    }
    return end === 'interrupted' ? 130 : 0;
  } finally {
    await decoder.dispose();
  }
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
  { directory }: Terminal,
  { scheme, calibration: brought }: NamedScheme,
  geometry: Geometry,
  { calibration: file }: GenerateCommandOptions,
): Promise<Plan> {
  const given =
    file === undefined ? {} : await readCalibrations(resolve(directory, file), [scheme]);
  const calibration = given[scheme.id] ?? brought;
  return createPlan(scheme, geometry, calibration === undefined ? {} : { calibration });
}

/** As many tokens as were asked for. Throws OPTION_INVALID where prompt and text do not fit the model's context. */
function roomFor(prompt: number, wanted: number, contextLimit: number | null): number {
  if (contextLimit === null || prompt + wanted <= contextLimit) return wanted;
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

interface Clock {
  readonly started: number;
  readonly first: number;
  readonly last: number;
}

function summary(prompt: number, count: number, end: GenerationEnd, clock: Clock): string {
  if (count === 0) return 'interrupted before the first token';
  const promptSeconds = (clock.first - clock.started) / 1000;
  const seconds = (clock.last - clock.first) / 1000;
  const reason = { eos: 'end of text', length: '--max-tokens', interrupted: 'interrupted' }[end];
  const rate = count > 1 ? `, ${((count - 1) / seconds).toFixed(1)} tokens/s` : '';
  return `${count} tokens${rate} (${reason}); prompt of ${prompt} tokens in ${promptSeconds.toFixed(2)} s, ${(prompt / promptSeconds).toFixed(0)} tokens/s`;
}

/** What the keys and values take, and what they would take in f16. */
function cacheLine({ bytes }: CacheStats, plan: Plan, tokens: number): string {
  const held = bytes.live - bytes.alignment;
  const { f16Total } = planBytes(plan, tokens);
  return `cache of ${tokens} tokens: ${megabytes(held)} (pages ${megabytes(bytes.live)}, allocated ${megabytes(bytes.allocated)}); f16 would take ${megabytes(f16Total)}, ${(f16Total / held).toFixed(2)} times as much`;
}

function onlyGreedy(temperature: number | undefined): LowbitKvError {
  return new LowbitKvError('OPTION_INVALID', {
    message: 'a drawn text has no f16 text to be compared with',
    value: temperature,
    valid: 'temperature 0',
    next: 'Leave --temperature or --against-f16 out.',
    where: { field: 'againstF16' },
  });
}
