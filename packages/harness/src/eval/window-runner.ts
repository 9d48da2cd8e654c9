/** Runs windows: the uncut model, f16, then every scheme. What the store has is not run again. */
import { type EvalContext, recordIdentity, timedRun, unlessRefused } from './eval-context.js';
import type { ProgressPlace } from './progress.js';
import { requireChecks, runChecks } from './self-checks.js';
import type { Subject } from './subject.js';
import {
  checkNotes,
  type FigureShape,
  figureShape,
  UNCUT_NUMBERS,
  type UncutFigures,
  uncutFromNumbers,
  uncutToNumbers,
  type WindowFigures,
  windowFromNumbers,
  windowNumberCount,
  windowToNumbers,
} from './window-figures.js';
import { type MeteredWindow, type Metering, WindowMeter } from './window-meter.js';

/** In progress reports. */
export const UNCUT_ID = 'uncut';

interface Baseline {
  readonly uncut: UncutFigures;
  readonly f16: WindowFigures;
}

export class WindowRunner {
  /** Of the windows that were run. */
  readonly uncut: UncutFigures[] = [];
  readonly #context: EvalContext;
  readonly #f16: Subject;
  readonly #schemes: readonly Subject[];
  readonly #allowedDifference: number;
  readonly #shape: FigureShape;
  /** Made for the first window that is run: it is as large as the logits. */
  #meter: WindowMeter | undefined;

  constructor(
    context: EvalContext,
    f16: Subject,
    schemes: readonly Subject[],
    allowedDifference: number,
  ) {
    const { model, windowTokens } = context.options;
    this.#context = context;
    this.#f16 = f16;
    this.#schemes = schemes;
    this.#allowedDifference = allowedDifference;
    this.#shape = figureShape(model.geometry, windowTokens);
  }

  /** Figures go to the subjects; schemes that do not fit become refused. Throws MEASUREMENT_INVALID for an unsound f16. */
  async run(part: number, tokens: readonly number[]): Promise<void> {
    const live = this.#schemes.filter(({ refused }) => refused === null);
    const kept = new Map<Subject, WindowFigures>();
    for (const subject of live) {
      const figures = await this.#kept(subject, tokens);
      if (figures !== null) kept.set(subject, figures);
    }
    const placeOf = (id: string) => ({ phase: 'windows', id, part, parts: this.#parts }) as const;
    // Schemes are measured against the logits of f16, which no record holds.
    const keptBaseline = kept.size === live.length ? await this.#keptBaseline(tokens) : null;
    const { uncut, f16 } = keptBaseline ?? (await this.#measureBaseline(tokens, placeOf));
    this.uncut.push(uncut);
    this.#f16.windows.push(f16);
    requireChecks(this.checks(), this.#context.options.model.name);
    if (keptBaseline === null) {
      await this.#keepUncut(tokens, uncut);
      await this.#keep(this.#f16, tokens, f16);
    } else for (const id of [UNCUT_ID, this.#f16.identity.id]) this.#resumed(tokens, placeOf(id));
    for (const subject of live) {
      const { id } = subject.identity;
      const before = kept.get(subject);
      if (before !== undefined) {
        subject.windows.push(before);
        this.#resumed(tokens, placeOf(id));
        continue;
      }
      const figures = await unlessRefused(this.#context, subject, () =>
        this.#measure(subject, tokens, placeOf(id), this.#meterOf().scheme(tokens)),
      );
      if (figures === null) continue;
      subject.windows.push(figures);
      await this.#keep(subject, tokens, figures);
    }
  }

  /** Of the whole run so far. */
  checks() {
    return runChecks(this.#f16.windows, this.uncut, this.#allowedDifference);
  }

  get #parts(): number {
    return this.#context.options.windows;
  }

  #meterOf(): WindowMeter {
    const { model, windowTokens } = this.#context.options;
    const { vocabularySize, name } = model;
    this.#meter ??= new WindowMeter({ windowTokens, vocabularySize, name });
    return this.#meter;
  }

  async #measureBaseline(
    tokens: readonly number[],
    placeOf: (id: string) => ProgressPlace,
  ): Promise<Baseline> {
    const { model } = this.#context.options;
    const meter = this.#meterOf();
    const { seconds } = await timedRun(
      this.#context,
      placeOf(UNCUT_ID),
      tokens.length,
      meter.uncut(),
      (sink) => model.uncut(tokens, sink),
    );
    const place = placeOf(this.#f16.identity.id);
    const f16 = await this.#measure(this.#f16, tokens, place, meter.f16(tokens));
    return { uncut: { seconds, difference: f16.difference }, f16 };
  }

  async #measure<Metered extends MeteredWindow>(
    subject: Subject,
    tokens: readonly number[],
    place: ProgressPlace,
    metering: Metering<Metered>,
  ): Promise<Metered & WindowFigures> {
    const run = await subject.open();
    const { notes, result, seconds } = await timedRun(
      this.#context,
      place,
      tokens.length,
      metering,
      (sink) => run.run(tokens, sink),
    );
    checkNotes(notes, this.#shape, this.#context.options.model.name);
    return { ...result, notes, seconds };
  }

  async #keptBaseline(tokens: readonly number[]): Promise<Baseline | null> {
    const f16 = await this.#kept(this.#f16, tokens);
    const identity = recordIdentity(this.#context, 'uncut', null, tokens);
    const uncut = await this.#context.records.read(identity, UNCUT_NUMBERS);
    return f16 === null || uncut === null ? null : { f16, uncut: uncutFromNumbers(uncut) };
  }

  async #kept(subject: Subject, tokens: readonly number[]): Promise<WindowFigures | null> {
    const identity = recordIdentity(this.#context, 'window', subject, tokens);
    const count = windowNumberCount(this.#shape);
    const numbers = await this.#context.records.read(identity, count);
    return numbers === null ? null : windowFromNumbers(numbers, this.#shape);
  }

  async #keep(subject: Subject, tokens: readonly number[], figures: WindowFigures): Promise<void> {
    const identity = recordIdentity(this.#context, 'window', subject, tokens);
    await this.#context.records.write(identity, windowToNumbers(figures));
  }

  async #keepUncut(tokens: readonly number[], figures: UncutFigures): Promise<void> {
    const identity = recordIdentity(this.#context, 'uncut', null, tokens);
    await this.#context.records.write(identity, uncutToNumbers(figures));
  }

  #resumed(tokens: readonly number[], place: ProgressPlace): void {
    this.#context.records.reused++;
    this.#context.progress.resumed(tokens.length, place);
  }
}
