/**
 * A step that is recorded as a graph, and replayed: everything that its kernels are told lies where it lay when it was recorded.
 *
 * Kernels go to a stream of their own, which is captured; tables go to the stream of the backend, before every replay.
 */
import { LowbitKvError } from '@lowbit-kv/core';
import { DeviceMemory } from '../driver/device-memory.js';
import { disposeAll } from '../driver/dispose-all.js';
import type { Stream } from '../driver/stream.js';
import type { UploadRing } from '../driver/upload-ring.js';

export interface StepSessionOptions {
  /** New tokens of a step, over all sequences, at most. */
  readonly rows: number;
  /** Tokens that sequences of a step have together, at most. */
  readonly tokens: number;
}

interface Table {
  readonly memory: DeviceMemory;
  readonly words: Uint32Array<ArrayBuffer>;
}

export class StepSession {
  readonly options: StepSessionOptions;
  readonly #stream: Stream;
  readonly #launches: Stream;
  readonly #ring: UploadRing;
  readonly #tables = new Map<string, Table>();
  /** By name: what they were filled from in this step. */
  readonly #filled = new Map<string, object>();
  readonly #owned: { dispose(): void }[] = [];
  /** What the recorded step asked for, in order. */
  #jobs: string[] = [];
  /** Of the store that the recorded step was of: kernels name its pages. */
  #store: object | undefined;
  #step: number | null = null;
  /** Elements that kernels look at, by the tensor. */
  readonly #limits = new Map<string, number>();
  #failure: { readonly error: unknown } | undefined;
  #next = 0;
  #replays = false;

  constructor(options: StepSessionOptions, stream: Stream, launches: Stream, ring: UploadRing) {
    this.options = options;
    this.#stream = stream;
    this.#launches = launches;
    this.#ring = ring;
  }

  /** Kernels are enqueued here; undefined while a step is replayed. */
  get launches(): Stream | undefined {
    return this.#replays ? undefined : this.#launches;
  }

  begin(replays: boolean): void {
    this.#replays = replays;
    this.#next = 0;
    this.#filled.clear();
    this.#step = null;
    this.#failure = undefined;
    if (replays) return;
    this.#jobs = [];
    this.#store = undefined;
    this.#limits.clear();
  }

  /** A call of a store in this step. Throws STEP_STATE for other stores and other steps than before, and what `work` throws. */
  within<T>(store: object, step: number | null, work: () => T): T {
    try {
      this.#store ??= store;
      this.#step ??= step;
      if (store !== this.#store)
        throw notCapturable('a step of another cache', 'Capture a step for every cache.');
      if (step !== null && step !== this.#step)
        throw notCapturable('two steps at once', 'Put all sequences in one step.');
      return work();
    } catch (error) {
      this.#failure ??= { error };
      throw error;
    }
  }

  /** Throws STEP_STATE unless all jobs of the recorded step have come, and what a job threw, whoever caught it. */
  end(): void {
    if (this.#failure !== undefined) throw this.#failure.error;
    if (this.#next < this.#jobs.length) throw differs('fewer jobs', this.#jobs[this.#next]);
  }

  /** A job by all that its kernels were told but for tables. Throws STEP_STATE when it is not the recorded one. */
  job(name: string, addresses: readonly bigint[]): void {
    const job = `${name} at ${addresses.map((address) => address.toString(16)).join(' ')}`;
    if (!this.#replays) this.#jobs.push(job);
    else if (this.#jobs[this.#next] !== job) throw differs(job, this.#jobs[this.#next]);
    this.#next++;
  }

  /**
   * Address of a table of `capacity` words that begins with those of `make`, the rest zero; uploaded once a step for each
   * `source`. Throws STEP_STATE when there are more.
   */
  table(name: string, capacity: number, source: object, make: () => Uint32Array): bigint {
    let table = this.#tables.get(name);
    if (table === undefined) {
      const memory = this.own(DeviceMemory.allocate(this.#stream.context, 4 * capacity));
      table = { memory, words: new Uint32Array(capacity) };
      this.#tables.set(name, table);
    }
    if (this.#filled.get(name) !== source) {
      const words = make();
      if (words.length > table.words.length) {
        throw noRoom(`${words.length} words of ${name}`, `at most ${table.words.length}`);
      }
      table.words.fill(0);
      table.words.set(words);
      this.#ring.upload(this.#stream, table.memory.all, new Uint8Array(table.words.buffer));
      this.#filled.set(name, source);
    }
    return table.memory.pointer;
  }

  /** What `make` gave for a name when the step was recorded. */
  limit(name: string, make: () => number): number {
    const limit = this.#limits.get(name) ?? make();
    this.#limits.set(name, limit);
    return limit;
  }

  /** Freed with the session. */
  own<T extends { dispose(): void }>(resource: T): T {
    this.#owned.push(resource);
    return resource;
  }

  /** Graphs that read the tables must have run. */
  dispose(): void {
    disposeAll(this.#owned.splice(0).reverse());
  }
}

/** For steps that are larger than what was captured. */
export function noRoom(value: string, valid: string): LowbitKvError {
  return new LowbitKvError('STEP_STATE', {
    message: 'the step has more work than the captured one has room for',
    value,
    valid,
    next: 'Run this step outside of the graph, or capture one with more rows.',
  });
}

/** For work that no graph holds. */
export function notCapturable(what: string, next: string): LowbitKvError {
  return new LowbitKvError('STEP_STATE', {
    message: 'a captured step cannot do this',
    value: what,
    valid: 'steps of the same kernels over the same memory, whatever their pages',
    next,
  });
}

function differs(job: string, recorded = 'no job'): LowbitKvError {
  return new LowbitKvError('STEP_STATE', {
    message: 'a step is not the one that was captured',
    value: job,
    valid: recorded,
    next: 'Call append and attend in the same order with the same tensors, or capture another step.',
  });
}
