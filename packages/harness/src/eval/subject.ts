/** One row of a report while it is measured: its plan, the model opened under it, and what it gave so far. */
import {
  type Calibration,
  createPlan,
  LowbitKvError,
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

export class Subject {
  readonly identity: SubjectIdentity;
  readonly plan: Plan;
  readonly calibration: Calibration | undefined;
  readonly windows: WindowFigures[] = [];
  /** Mean log-probability of the answer to each retrieval prompt that it was given. */
  readonly answers: number[] = [];
  /** How many of them came from the store. */
  readonly resumed = { windows: 0, prompts: 0 };
  /** Why it has no figures; null while it has. */
  refused: UnmeasuredRow | null = null;
  readonly #model: EvaluatedModel;
  #run: PlanRun | undefined;

  constructor(scheme: Scheme, model: EvaluatedModel, calibration: Calibration | undefined) {
    this.identity = identityOf(scheme);
    this.#model = model;
    this.calibration = calibration;
    this.plan = createPlan(
      scheme,
      model.geometry,
      calibration === undefined ? {} : { calibration },
    );
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

/** f16, then the schemes: subjects, or rows with the reason why they are none. Throws OPTION_INVALID for equal ids. */
export function createSubjects({ model, schemes, calibrations }: EvaluateOptions): {
  readonly f16: Subject;
  readonly others: readonly (Subject | UnmeasuredRow)[];
} {
  const ids = [UNCUT_ID, F16.id, ...schemes.map(({ id }) => id)];
  const twice = ids.find((id, i) => ids.indexOf(id) !== i);
  if (twice !== undefined) {
    throw new LowbitKvError('OPTION_INVALID', {
      message: 'two rows of an evaluation have the same id',
      value: twice,
      valid: `different ids; ${F16.id} and ${UNCUT_ID} are always there`,
      next: 'Rename one scheme.',
      where: { field: 'schemes' },
    });
  }
  return {
    f16: new Subject(F16, model, undefined),
    others: schemes.map((scheme) => {
      const offline = scheme.calibration.kind === 'offline';
      try {
        return new Subject(scheme, model, offline ? calibrations?.[scheme.id] : undefined);
      } catch (error) {
        return refusedRow(error, identityOf(scheme));
      }
    }),
  };
}

function identityOf(scheme: Scheme): SubjectIdentity {
  return { id: scheme.id, title: scheme.title, fingerprint: schemeFingerprint(scheme) };
}
