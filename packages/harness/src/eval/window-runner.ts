/** Runs windows: the uncut model, f16, then schemes. What the store has is not run again. */
import { numbersCodec } from '../work/numbers.js';
import type { RecordCodec } from '../work/records.js';
import { type EvalContext, recordIdentity, timedRun, unlessRefused } from './eval-context.js';
import { windowUnit } from './eval-work.js';
import type { ProgressPlace } from './progress.js';
import { requireChecks, runChecks } from './self-checks.js';
import { type Subject, UNCUT_ID } from './subject.js';
import {
  checkNotes,
  type FigureShape,
  figureShape,
  type UncutFigures,
  type WindowFigures,
  windowFromNumbers,
  windowNumberCount,
  windowToNumbers,
} from './window-figures.js';
import { type MeteredWindow, type Metering, WindowMeter } from './window-meter.js';

type PlaceOf = (id: string) => ProgressPlace;

export class WindowRunner {
  readonly #context: EvalContext;
  readonly #f16: Subject;
  readonly #allowedDifference: number;
  readonly #shape: FigureShape;
  readonly #codec: RecordCodec<Float64Array>;
  /** Made for the first window that is run: it is as large as the logits. */
  #meter: WindowMeter | undefined;

  constructor(context: EvalContext, f16: Subject, allowedDifference: number) {
    const { model, windowTokens } = context.options;
    this.#context = context;
    this.#f16 = f16;
    this.#allowedDifference = allowedDifference;
    this.#shape = figureShape(model, windowTokens);
    this.#codec = numbersCodec(windowNumberCount(this.#shape));
  }

  /** Figures go to the subjects; schemes that do not fit become refused. Throws MEASUREMENT_INVALID for an unsound f16. */
  async run(part: number, tokens: readonly number[], schemes: readonly Subject[]): Promise<void> {
    const unitOf = ({ identity: { id } }: Subject) => windowUnit(part, id);
    const kept = await this.#openOrKept(tokens, schemes, unitOf);
    const live = schemes.filter(({ refused }) => refused === null);
    const { windows: parts } = this.#context.options;
    const placeOf: PlaceOf = (id) => ({ phase: 'windows', id, part, parts });
    // Schemes are measured against the logits of f16, which no record holds.
    const keptF16 = live.every((subject) => kept.has(subject))
      ? await this.#kept(this.#f16, tokens)
      : null;
    const f16 = keptF16 ?? (await this.#measureBaseline(tokens, placeOf));
    this.#f16.windows.set(part, f16);
    const checks = runChecks(this.#f16.windows, this.#allowedDifference);
    requireChecks(checks, this.#context.options.model.name);
    if (keptF16 === null) await this.#keep(this.#f16, tokens, f16);
    else {
      this.#context.progress.resumed(tokens.length, placeOf(UNCUT_ID));
      this.#resumed(this.#f16, part, tokens, placeOf);
    }
    for (const subject of live) {
      const before = kept.get(subject);
      if (before !== undefined) {
        subject.windows.set(part, before);
        this.#resumed(subject, part, tokens, placeOf);
        continue;
      }
      const metering = this.#meterOf().scheme(tokens);
      const measured = await unlessRefused(this.#context, subject, unitOf(subject), () =>
        this.#measure(subject, tokens, placeOf, metering),
      );
      if (measured === null) continue;
      const figures = { ...measured, uncut: f16.uncut };
      subject.windows.set(part, figures);
      await this.#keep(subject, tokens, figures);
    }
  }

  /** What the store has of this window. The others are opened: one that refuses needs no baseline. */
  async #openOrKept(
    tokens: readonly number[],
    schemes: readonly Subject[],
    unitOf: (subject: Subject) => string,
  ): Promise<Map<Subject, WindowFigures>> {
    const kept = new Map<Subject, WindowFigures>();
    for (const subject of schemes) {
      if (subject.refused !== null) continue;
      const figures = await this.#kept(subject, tokens);
      if (figures !== null) kept.set(subject, figures);
      else await unlessRefused(this.#context, subject, unitOf(subject), () => subject.open());
    }
    return kept;
  }

  #meterOf(): WindowMeter {
    const { model, windowTokens } = this.#context.options;
    const { vocabularySize, name } = model;
    this.#meter ??= new WindowMeter({ windowTokens, vocabularySize, name });
    return this.#meter;
  }

  async #measureBaseline(tokens: readonly number[], placeOf: PlaceOf): Promise<WindowFigures> {
    const { model } = this.#context.options;
    const meter = this.#meterOf();
    const { seconds } = await timedRun(
      this.#context,
      placeOf(UNCUT_ID),
      tokens.length,
      meter.uncut(),
      (sink) => model.uncut(tokens, sink),
    );
    const measured = await this.#measure(this.#f16, tokens, placeOf, meter.f16(tokens));
    const { difference, ...figures } = measured;
    const uncut: UncutFigures = { seconds, difference };
    return { ...figures, uncut };
  }

  async #measure<Metered extends MeteredWindow>(
    subject: Subject,
    tokens: readonly number[],
    placeOf: PlaceOf,
    metering: Metering<Metered>,
  ): Promise<Metered & Omit<WindowFigures, 'uncut'>> {
    const run = await subject.open();
    const { notes, result, seconds } = await timedRun(
      this.#context,
      placeOf(subject.identity.id),
      tokens.length,
      metering,
      (sink) => run.run(tokens, sink),
    );
    checkNotes(notes, this.#shape, this.#context.options.model.name);
    return { ...result, notes, seconds };
  }

  async #kept(subject: Subject, tokens: readonly number[]): Promise<WindowFigures | null> {
    const identity = recordIdentity(this.#context, 'window', subject, tokens);
    const numbers = await this.#context.records.read(identity, this.#codec);
    return numbers === null ? null : windowFromNumbers(numbers, this.#shape);
  }

  async #keep(subject: Subject, tokens: readonly number[], figures: WindowFigures): Promise<void> {
    const identity = recordIdentity(this.#context, 'window', subject, tokens);
    await this.#context.records.write(identity, windowToNumbers(figures), this.#codec);
  }

  #resumed(subject: Subject, part: number, tokens: readonly number[], placeOf: PlaceOf): void {
    subject.resumed.windows.add(part);
    this.#context.progress.resumed(tokens.length, placeOf(subject.identity.id));
  }
}
