/**
 * Faults that kernels find: a word for each job that can fail, which becomes the smallest number of what was wrong.
 */
import { LowbitKvError } from '@lowbit-kv/core';
import type { Context } from '../driver/context.js';
import { DeviceMemory } from '../driver/device-memory.js';
import { PinnedMemory } from '../driver/pinned-memory.js';
import type { Stream } from '../driver/stream.js';
import type { StepSession } from './step-session.js';

const FLAGS = 4096;
const NONE = 0xffffffff;

/** What a failed job says of the number that it left. */
export type Failure = (number: number) => LowbitKvError;

interface FlaggedJob {
  readonly flag: number;
  readonly failure: Failure;
  readonly isCaptured: boolean;
}

export class StepFlags {
  readonly #stream: Stream;
  readonly #memory: DeviceMemory;
  readonly #copy: PinnedMemory;
  readonly #free: number[] = [];
  readonly #used = new Map<number, FlaggedJob[]>();
  /** Words of captured steps, which stay theirs. */
  readonly #captured = new WeakMap<StepSession, Map<string, number>>();

  /** Throws DEVICE_OUT_OF_MEMORY. */
  constructor(context: Context, stream: Stream) {
    this.#stream = stream;
    this.#memory = DeviceMemory.allocate(context, 4 * FLAGS);
    this.#copy = PinnedMemory.allocate(context, 4 * FLAGS);
    this.#memory.all.fillWords(stream, NONE);
    for (let flag = FLAGS - 1; flag >= 0; flag--) this.#free.push(flag);
  }

  /**
   * Address of the word of a job of a step; in every run of a captured step the same for a name. Throws STEP_STATE when there
   * are none left.
   */
  register(
    step: number,
    failure: Failure,
    captured?: { readonly session: StepSession; readonly name: string },
  ): bigint {
    const known = captured && this.#known(captured.session);
    const flag = (captured && known?.get(captured.name)) ?? this.#take();
    if (captured !== undefined) known?.set(captured.name, flag);
    const jobs = this.#used.get(step) ?? [];
    this.#used.set(step, jobs);
    jobs.push({ flag, failure, isCaptured: captured !== undefined });
    return this.#memory.pointer + BigInt(4 * flag);
  }

  #known(session: StepSession): Map<string, number> {
    let known = this.#captured.get(session);
    if (known === undefined) {
      const flags = new Map<string, number>();
      known = flags;
      this.#captured.set(session, flags);
      session.own({ dispose: () => this.#free.push(...flags.values()) });
    }
    return known;
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

  /** Waits for the work of the step; throws its first fault. Without one, its words are free again. */
  async check(step: number): Promise<void> {
    const jobs = this.#used.get(step);
    if (jobs === undefined) return this.#stream.finished();
    this.#memory.all.downloadTo(this.#stream, this.#copy);
    await this.#stream.finished();
    const words = new Uint32Array(this.#copy.read().buffer);
    for (const { flag, failure } of jobs) {
      const number = words[flag] as number;
      if (number !== NONE) throw failure(number);
    }
    this.#used.delete(step);
    for (const { flag, isCaptured } of jobs) if (!isCaptured) this.#free.push(flag);
  }

  /** The step failed or was abandoned: its words are cleared behind the work that still writes to them. */
  release(step: number): void {
    const jobs = this.#used.get(step);
    if (jobs === undefined) return;
    this.#used.delete(step);
    for (const { flag, isCaptured } of jobs) {
      this.#memory.range(4 * flag, 4).fillWords(this.#stream, NONE);
      if (!isCaptured) this.#free.push(flag);
    }
  }

  dispose(): void {
    this.#memory.dispose();
    this.#copy.dispose();
  }
}
