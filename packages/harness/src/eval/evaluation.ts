/** One evaluation, or a shard of it: measures its units of work. */
import { F16 } from '../f16-scheme.js';
import type { UnmeasuredRow } from '../report.js';
import { unitNames } from '../work/partition.js';
import { Records } from '../work/records.js';
import type { EvalContext } from './eval-context.js';
import {
  type EvalWork,
  evalGroups,
  evalWork,
  promptUnit,
  unitsOfRow,
  windowUnit,
} from './eval-work.js';
import type { EvaluateOptions } from './evaluate-options.js';
import { ProgressCounter } from './progress.js';
import { measureAnswers } from './retrieval.js';
import { type RetrievalPrompt, retrievalPrompts } from './retrieval-prompts.js';
import { checkIds, createSubject, Subject, type SubjectFacts, UNCUT_ID } from './subject.js';
import { WindowRunner } from './window-runner.js';
import { cutWindows } from './windows.js';

export interface MeasuredEvaluation {
  readonly f16: Subject;
  /** Of the schemes that have units, in order; rows are of those that cannot be planned. */
  readonly others: readonly (Subject | UnmeasuredRow)[];
  readonly damaged: Records['damaged'];
}

export class Evaluation {
  readonly work: EvalWork;
  readonly #options: EvaluateOptions;
  readonly #windows: readonly (readonly number[])[];
  readonly #prompts: readonly RetrievalPrompt[];

  /** Throws OPTION_INVALID for options that do not fit text or model, and SCHEME_INVALID. */
  constructor(options: EvaluateOptions) {
    const { model, text, retrieval, schemes } = options;
    this.#options = options;
    this.#windows = cutWindows(text.tokens, options, model);
    const prompts = retrieval === undefined ? null : retrievalPrompts(retrieval, model);
    this.#prompts = prompts ?? [];
    checkIds(schemes);
    this.work = evalWork(options, this.#windows, prompts);
  }

  /** All units, or those named. Throws what `evaluate` throws. */
  async measure(
    units: ReadonlySet<string> = new Set(unitNames(evalGroups(this.work))),
  ): Promise<MeasuredEvaluation> {
    const { f16, others } = this.#subjects(units);
    const schemes = others.filter((other) => other instanceof Subject);
    const context = this.#context([f16, ...schemes], units);
    const having = (subjects: readonly Subject[], unitOf: (id: string) => string) =>
      subjects.filter(({ identity: { id } }) => units.has(unitOf(id)));
    const runner = new WindowRunner(context, f16, this.work.thresholds.f16Difference);
    try {
      for (const [window, tokens] of this.#windows.entries()) {
        const unitOf = (id: string) => windowUnit(window, id);
        const own = having(schemes, unitOf);
        if (own.length > 0 || units.has(unitOf(F16.id))) await runner.run(window, tokens, own);
      }
      for (const [i, prompt] of this.#prompts.entries()) {
        const own = having([f16, ...schemes], (id) => promptUnit(i, id));
        await measureAnswers(context, prompt, { part: i, parts: this.#prompts.length }, own);
      }
    } finally {
      await Promise.all([f16, ...schemes].map((subject) => subject.dispose()));
    }
    return { f16, others, damaged: context.records.damaged };
  }

  /** Of f16 and the planned schemes that have some of these units, by id. */
  factsOf(units: ReadonlySet<string>): Record<string, SubjectFacts> {
    const { f16, others } = this.#subjects(units);
    const planned = [...(units.size > 0 ? [f16] : []), ...others].filter(
      (other) => other instanceof Subject,
    );
    return Object.fromEntries(planned.map(({ identity: { id }, facts }) => [id, facts]));
  }

  #subjects(units: ReadonlySet<string>) {
    const others = this.#options.schemes
      .filter(({ id }) => unitsOfRow(this.work, id).some((unit) => units.has(unit)))
      .map((scheme) => createSubject(scheme, this.#options));
    return { f16: new Subject(F16, this.#options.model, undefined), others };
  }

  #context(subjects: readonly Subject[], units: ReadonlySet<string>): EvalContext {
    const options = this.#options;
    const now = options.now ?? (() => performance.now());
    const expected = this.#expectedTokens(subjects, units);
    return {
      options,
      records: new Records(options.store),
      progress: new ProgressCounter(expected, now, options.onProgress),
      now,
    };
  }

  /** By id of the row. A window that any scheme has is a window of f16 and the uncut model, too. */
  #expectedTokens(subjects: readonly Subject[], units: ReadonlySet<string>): [string, number][] {
    const ids = subjects.map(({ identity: { id } }) => id);
    const { windowTokens } = this.#options;
    const has = (id: string, window: number) => units.has(windowUnit(window, id));
    const windows = [...this.#windows.keys()];
    const touched = windows.filter((window) => ids.some((id) => has(id, window))).length;
    const inPrompts = (id: string) =>
      this.#prompts.reduce(
        (sum, { tokens }, i) => sum + (units.has(promptUnit(i, id)) ? tokens.length : 0),
        0,
      );
    return [
      [UNCUT_ID, touched * windowTokens],
      ...ids.map((id): [string, number] => {
        const own = id === F16.id ? touched : windows.filter((window) => has(id, window)).length;
        return [id, own * windowTokens + inPrompts(id)];
      }),
    ];
  }
}
