/**
 * What the runner and its child process say to each other.
 */
export interface Job {
  readonly target: string;
  readonly seed: number;
  /** Mutants: at most `count`, at least `minimum`, and between them as many as `seconds` allow. */
  readonly count: number;
  readonly minimum: number;
  readonly seconds: number;
}

export interface Request {
  readonly jobs: readonly Job[];
  /** Where to go on after a child that died. */
  readonly firstJob: number;
  readonly firstIndex: number;
  readonly progressFile: string;
}

/** A mutant that found something. */
export interface Find {
  readonly index: number;
  readonly problem: string;
  /** Equal for finds that are likely one fault. */
  readonly signature: string;
}

/** What one child did of a job. */
export interface JobPart {
  /** Index of the first mutant that did not run. */
  readonly end: number;
  readonly refused: number;
  readonly accepted: number;
  readonly seconds: number;
}

/** Sent by the child: of the job with this number. */
export type Message =
  | { readonly job: number; readonly find: Find }
  | { readonly job: number; readonly part: JobPart };

/** In the progress file: the number of the job, and its part as far as it has come. `end` is the mutant that runs. */
export const PROGRESS_NUMBERS = 5;
