/**
 * Faults that kernels find: a word for each job that can fail, which becomes the smallest number of what was wrong.
 */
import { LowbitKvError } from '@lowbit-kv/core';
import type { Context } from '../driver/context.js';
import { DeviceMemory } from '../driver/device-memory.js';
import { disposeAll } from '../driver/dispose-all.js';
import { PinnedMemory } from '../driver/pinned-memory.js';
import type { Stream } from '../driver/stream.js';
import type { StepSession } from './step-session.js';

const FLAGS = 4096;
const NONE = 0xffffffff;

/** What a failed job says of the number that it left. */
export type Failure = (number: number) => LowbitKvError;

/** A job whose kernels are captured. */
export interface CapturedFlag {
  readonly session: StepSession;
  readonly name: string;
  /** Numbers from here on are of no row of this run. */
  readonly end: number;
}

interface FlaggedJob {
  readonly flag: number;
  readonly failure: Failure;
  readonly end: number;
  /** Belongs to a captured step, and stays with it. */
  isCaptured: boolean;
}

export class StepFlags {
  readonly #stream: Stream;
  readonly #memory: DeviceMemory;
  readonly #copy: PinnedMemory;
  readonly #free: number[] = [];
  readonly #used = new Map<number, FlaggedJob[]>();
  /** Not in use, and not NONE: cleared before any is used, behind the work that still writes to them. */
  readonly #stale = new Set<number>();
  /** Words of captured steps, which stay theirs. */
  readonly #captured = new WeakMap<StepSession, Map<string, number>>();

  /** Throws DEVICE_OUT_OF_MEMORY. */
  constructor(context: Context, stream: Stream) {
    this.#stream = stream;
    this.#memory = DeviceMemory.allocate(context, 4 * FLAGS);
    let copy: PinnedMemory | undefined;
    try {
      copy = PinnedMemory.allocate(context, 4 * FLAGS);
      this.#memory.all.fillWords(stream, NONE);
      this.#copy = copy;
    } catch (error) {
      copy?.dispose();
      this.#memory.dispose();
      throw error;
    }
    for (let flag = FLAGS - 1; flag >= 0; flag--) this.#free.push(flag);
  }

  /**
   * Address of the word of a job of a step; in every run of a captured step the same for a name. Throws STEP_STATE when there
   * are none left, and for a run of a captured step while the step of the run before is open.
   */
  register(step: number, failure: Failure, captured?: CapturedFlag): bigint {
    this.#clearStale();
    const flag = captured === undefined ? this.#take() : this.#flagOf(captured);
    const jobs = this.#used.get(step) ?? [];
    this.#used.set(step, jobs);
    const end = captured?.end ?? NONE;
    jobs.push({ flag, failure, end, isCaptured: captured !== undefined });
    return this.#memory.pointer + BigInt(4 * flag);
  }

  #flagOf({ session, name }: CapturedFlag): number {
    const known = this.#flagsOf(session);
    const flag = known.get(name) ?? this.#take();
    known.set(name, flag);
    if (this.#isUsed(flag)) {
      throw new LowbitKvError('STEP_STATE', {
        message: 'the step of the run before is still open',
        value: name,
        valid: 'one open step of a captured step',
        next: 'Commit or abandon it first: both would be told of faults of either.',
      });
    }
    return flag;
  }

  #flagsOf(session: StepSession): Map<string, number> {
    let known = this.#captured.get(session);
    if (known === undefined) {
      const flags = new Map<string, number>();
      known = flags;
      this.#captured.set(session, flags);
      session.own({ dispose: () => this.#giveUp([...flags.values()]) });
    }
    return known;
  }

  /** The captured step is gone; its words that an open step waits for are freed with that. */
  #giveUp(flags: readonly number[]): void {
    const waiting = new Set<number>();
    for (const job of [...this.#used.values()].flat()) {
      if (!flags.includes(job.flag)) continue;
      job.isCaptured = false;
      waiting.add(job.flag);
    }
    this.#free.push(...flags.filter((flag) => !waiting.has(flag)));
  }

  #isUsed(flag: number): boolean {
    for (const jobs of this.#used.values())
      if (jobs.some((job) => job.isCaptured && job.flag === flag)) return true;
    return false;
  }

  #take(): number {
    const flag = this.#free.pop();
    if (flag === undefined) {
      throw new LowbitKvError('STEP_STATE', {
        message: 'too many jobs wait to be checked',
        value: FLAGS,
        valid: `at most ${FLAGS} jobs of open steps; an append has up to four`,
        next: 'Commit or abandon steps before new ones are opened.',
      });
    }
    return flag;
  }

  #clearStale(): void {
    for (const flag of this.#stale) {
      this.#memory.range(4 * flag, 4).fillWords(this.#stream, NONE);
      this.#stale.delete(flag);
    }
  }

  /** Waits for the work of the step; throws its first fault. Without one, its words are free again. */
  async check(step: number): Promise<void> {
    const jobs = this.#used.get(step);
    if (jobs === undefined) return this.#stream.finished();
    this.#memory.all.downloadTo(this.#stream, this.#copy);
    await this.#stream.finished();
    const words = new Uint32Array(this.#copy.read().buffer);
    for (const { flag, failure, end } of jobs) {
      const number = words[flag] as number;
      if (number < end) throw failure(number);
    }
    this.#used.delete(step);
    for (const { flag, isCaptured } of jobs) {
      if (words[flag] !== NONE) this.#stale.add(flag);
      if (!isCaptured) this.#free.push(flag);
    }
  }

  /** The step failed or was abandoned: its words are cleared before they are used again. */
  release(step: number): void {
    const jobs = this.#used.get(step) ?? [];
    this.#used.delete(step);
    for (const { flag, isCaptured } of jobs) {
      this.#stale.add(flag);
      if (!isCaptured) this.#free.push(flag);
    }
  }

  dispose(): void {
    disposeAll([this.#memory, this.#copy]);
  }
}
