/**
 * Writes a generated text to stdout as it comes, with a clock.
 */
import {
  type GenerateOptions,
  type GenerationEnd,
  generate,
  type Tokenizer,
  type TokenRun,
} from '@lowbit-kv/model-onnx';
import { Interrupted, type Terminal } from '../terminal.js';

export interface StreamedText {
  readonly tokens: readonly number[];
  readonly end: GenerationEnd | 'interrupted';
  /** Until the first token. */
  readonly promptSeconds: number;
  /** From the first token to the end. */
  readonly seconds: number;
}

/** Ends at an interruption, or when nobody reads. Whatever ends it, the text that came is written whole. */
export async function streamText(
  terminal: Terminal,
  run: TokenRun,
  tokenizer: Tokenizer,
  options: Omit<GenerateOptions, 'eosIds' | 'signal'>,
): Promise<StreamedText> {
  const { eosIds } = tokenizer;
  const signal = AbortSignal.any([terminal.interruption(), terminal.readerGone]);
  const steps = generate(run, { ...options, eosIds, signal });
  const stream = tokenizer.createTextStream();
  const tokens: number[] = [];
  const started = performance.now();
  let first = started;
  terminal.status(`reading the prompt, ${options.prompt.length} tokens`);
  const ended = (end: StreamedText['end']): StreamedText => ({
    ...{ tokens, end, promptSeconds: (first - started) / 1000 },
    seconds: (performance.now() - first) / 1000,
  });
  try {
    while (true) {
      const step = await steps.next();
      const now = performance.now();
      if (step.done === true) return ended(step.value);
      if (tokens.length === 0) first = now;
      tokens.push(step.value.token);
      terminal.write(stream.push(step.value.token));
    }
  } catch (error) {
    const isGone = terminal.readerGone.aborted && error === terminal.readerGone.reason;
    if (isGone || error instanceof Interrupted) return ended('interrupted');
    throw error;
  } finally {
    terminal.write(`${stream.flush()}\n`);
  }
}
