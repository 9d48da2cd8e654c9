/** One row of a report while it is measured: its plan, the model opened under it, and what it gave so far. */
import {
  bitsPerElement,
  type Calibration,
  createPlan,
  LowbitKvError,
  type PageClass,
  type Plan,
  type Scheme,
  schemeFingerprint,
} from '@lowbit-kv/core';
import { F16 } from '../f16-scheme.js';
import type { UnmeasuredRow } from '../report.js';
import { refusedRow } from '../scheme-row.js';
import type { EvaluateOptions } from './evaluate-options.js';
import type { EvaluatedModel, PlanRun } from './model.js';
import type { WindowFigures } from './window-figures.js';

/** What progress calls the model itself. */
export const UNCUT_ID = 'uncut';

export interface SubjectIdentity {
  readonly id: string;
  readonly title: string;
  readonly fingerprint: string;
}

/** What a report says of a row beside its figures. */
export interface SubjectFacts {
  /** Of the plan, calibration included. */
  readonly plan: string;
  readonly classes: readonly PageClass[];
  /** Bits per element of packed blocks. */
  readonly asymptoticBits: number;
  /** Where an offline calibration comes from. */
  readonly calibration: string | null;
}

/** All that a row of a report is made from. */
export interface SubjectResult {
  readonly identity: SubjectIdentity;
  readonly facts: SubjectFacts;
  /** By number of the window. */
  readonly windows: ReadonlyMap<number, WindowFigures>;
  /** Mean log-probability of the answer to each retrieval prompt that it was given, by its number. */
  readonly answers: ReadonlyMap<number, number>;
  /** Which of them came from the store. */
  readonly resumed: {
    readonly windows: ReadonlySet<number>;
    readonly prompts: ReadonlySet<number>;
  };
}

export class Subject implements SubjectResult {
  readonly identity: SubjectIdentity;
  readonly plan: Plan;
  readonly facts: SubjectFacts;
  readonly windows = new Map<number, WindowFigures>();
  readonly answers = new Map<number, number>();
  readonly resumed = { windows: new Set<number>(), prompts: new Set<number>() };
  /** In which unit of work it became clear that it has no figures, and why; null while it has. */
  refused: { readonly unit: string; readonly row: UnmeasuredRow } | null = null;
  readonly #model: EvaluatedModel;
  #run: PlanRun | undefined;

  constructor(scheme: Scheme, model: EvaluatedModel, calibration: Calibration | undefined) {
    this.identity = identityOf(scheme);
    this.#model = model;
    this.plan = createPlan(
      scheme,
      model.geometry,
      calibration === undefined ? {} : { calibration },
    );
    this.facts = {
      plan: this.plan.fingerprint,
      classes: this.plan.classes,
      asymptoticBits: bitsPerElement(this.plan).all.total,
      calibration: calibration === undefined ? null : provenanceText(calibration.provenance),
    };
  }

  /** The model under this plan, opened once. */
  async open(): Promise<PlanRun> {
    this.#run ??= await this.#model.open(this.plan);
    return this.#run;
  }

  async dispose(): Promise<void> {
    await this.#run?.dispose();
    this.#run = undefined;
  }
}

/** Throws OPTION_INVALID for two rows of one id. */
export function checkIds(schemes: readonly Scheme[]): void {
  const ids = [UNCUT_ID, F16.id, ...schemes.map(({ id }) => id)];
  const twice = ids.find((id, i) => ids.indexOf(id) !== i);
  if (twice === undefined) return;
  throw new LowbitKvError('OPTION_INVALID', {
    message: 'two rows of an evaluation have the same id',
    value: twice,
    valid: `different ids; ${F16.id} and ${UNCUT_ID} are always there`,
    next: 'Rename one scheme.',
    where: { field: 'schemes' },
  });
}

/** A subject, or the row with the reason why it is none. */
export function createSubject(
  scheme: Scheme,
  { model, calibrations }: Pick<EvaluateOptions, 'model' | 'calibrations'>,
): Subject | UnmeasuredRow {
  const offline = scheme.calibration.kind === 'offline';
  try {
    return new Subject(scheme, model, offline ? calibrations?.[scheme.id] : undefined);
  } catch (error) {
    return refusedRow(error, identityOf(scheme));
  }
}

/** What a report is made from: the row with the reason where there are no figures. */
export function resultOf(subject: Subject | UnmeasuredRow): SubjectResult | UnmeasuredRow {
  return (subject instanceof Subject && subject.refused?.row) || subject;
}

export function identityOf(scheme: Scheme): SubjectIdentity {
  return { id: scheme.id, title: scheme.title, fingerprint: schemeFingerprint(scheme) };
}

/** Hashes are cut short: they are for people to compare. */
function provenanceText(provenance: Readonly<Record<string, string>>): string {
  const facts = Object.entries(provenance).map(
    ([name, text]) => `${name} ${/^[\da-f]{40,}$/.test(text) ? text.slice(0, 12) : text}`,
  );
  return facts.join(', ') || 'given without provenance';
}
