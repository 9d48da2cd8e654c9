/**
 * Records dispatches, into an encoder of its own or into one of the caller. What a dispatch is told travels through a ring:
 * numbers of its own (a uniform with a dynamic offset) and tables (commands). A ring is written when its encoder is
 * finished, and written again only after that encoder was submitted, so that the queue keeps them in order.
 */
import { LowbitKvError } from '@lowbit-kv/core';
import { JOB_BYTES, type Kernel } from './pipelines.js';

/** A uniform offset is a multiple of this on every device. */
const JOB_STRIDE = 256;
const JOBS = 1024;
const COMMAND_WORDS = 1 << 18;
const MOST_BIND_GROUPS = 4096;
/** Workgroups along x; what is more goes along z. */
export const LONGEST_X = 32768;

/** A whole buffer, or a part of it that begins where bindings may begin. */
export type Bound = GPUBuffer | BoundPart;

interface BoundPart {
  readonly buffer: GPUBuffer;
  readonly offset: number;
  /** Bytes. Default: to the end. Two parts of a buffer that are written may not overlap. */
  readonly size?: number;
}

export interface Dispatch {
  readonly kernel: Kernel;
  /** Bindings from number 2 on. */
  readonly buffers: readonly Bound[];
  /** Index into the commands of this ring. */
  readonly table: number;
  readonly entries?: number;
  readonly first?: number;
  readonly groups: readonly [number, number, number];
}

/** Work in an encoder of the caller. */
export interface Recording {
  /** To be called once the caller has submitted the encoder: what the work needs can be used again then. */
  submitted(): void;
}

interface Ring {
  readonly jobs: GPUBuffer;
  readonly jobWords: Uint32Array<ArrayBuffer>;
  commands: GPUBuffer;
  commandWords: Uint32Array<ArrayBuffer>;
  jobCount: number;
  commandCount: number;
}

interface OpenRecording extends Recording {
  readonly rings: Ring[];
  readonly after: (() => void)[];
}

/** Work that reaches the queue in one piece: it runs whole or, when the device finds an error in it, not at all. */
export class Submission {
  #checks: Promise<GPUError | null> = Promise.resolve(null);

  /** The first error the device found in it so far. */
  error(): Promise<GPUError | null> {
    return this.#checks;
  }

  /** @internal */
  add(check: Promise<GPUError | null>): void {
    const before = this.#checks;
    this.#checks = before.then(async (error) => error ?? (await check));
  }
}

export class Recorder {
  readonly #device: GPUDevice;
  readonly #own: Ring;
  readonly #free: Ring[] = [];
  #ring: Ring;
  #encoder: GPUCommandEncoder | null = null;
  #pass: GPUComputePassEncoder | null = null;
  /** The recording whose function runs. */
  #recording: OpenRecording | null = null;
  /** Recordings that the caller has not submitted yet, in order. */
  readonly #unsubmitted: OpenRecording[] = [];
  readonly #bindGroups = new Map<string, GPUBindGroup>();
  readonly #ids = new WeakMap<object, number>();
  #nextId = 0;
  #submission = new Submission();
  /** Where the job that is being recorded keeps the submissions it is part of. */
  #job: Set<Submission> | null = null;

  constructor(device: GPUDevice) {
    this.#device = device;
    this.#own = this.#newRing();
    this.#ring = this.#own;
  }

  /** The recording whose function runs, if any. */
  get recording(): Recording | null {
    return this.#recording;
  }

  /** Records a job; the submissions that it becomes part of are added to `submissions`. */
  job<T>(submissions: Set<Submission>, work: () => T): T {
    this.#job = submissions;
    try {
      return work();
    } finally {
      this.#job = null;
    }
  }

  /**
   * Everything that `work` records goes into `encoder`, in passes of its own. When `work` throws, the encoder cannot be
   * submitted any more.
   */
  record(encoder: GPUCommandEncoder, work: () => void): Recording {
    if (this.#recording !== null) {
      throw new LowbitKvError('STEP_STATE', {
        message: 'a recording is open already',
        value: 'record() inside record()',
        valid: 'one recording at a time',
        next: 'Let the function of the first end before the next begins.',
      });
    }
    this.submit();
    const recording: OpenRecording = {
      rings: [],
      after: [],
      submitted: () => this.#submitted(recording),
    };
    this.#recording = recording;
    this.#submission = new Submission();
    this.#encoder = encoder;
    this.#ring = this.#free.pop() ?? this.#newRing();
    try {
      work();
      this.#unsubmitted.push(recording);
    } catch (error) {
      // An encoder that names destroyed buffers cannot be submitted: half of a step must not run.
      recording.after.push(() => {
        for (const ring of recording.rings) this.#destroy(ring);
      });
      throw error;
    } finally {
      this.#endPass();
      this.#closeRing(recording);
      this.#ring = this.#own;
      this.#encoder = null;
      this.#recording = null;
      this.#submission = new Submission();
      if (!this.#unsubmitted.includes(recording)) for (const action of recording.after) action();
    }
    return recording;
  }

  /** Makes rings for so many recordings that are open at once. */
  prepare(recordings: number): void {
    while (this.#free.length < recordings) this.#free.push(this.#newRing());
  }

  /** Runs when everything recorded so far is submitted. */
  whenSubmitted(action: () => void): void {
    const last = this.#recording ?? this.#unsubmitted.at(-1);
    if (last !== undefined) last.after.push(action);
    else {
      this.submit();
      action();
    }
  }

  /**
   * Makes room for a job of so many dispatches and table words. Indices that `table` gave before may be void then, so call
   * it before the first `table` of a job.
   */
  reserve(dispatches: number, words: number): void {
    if (
      this.#ring.jobCount + dispatches > JOBS ||
      this.#ring.commandCount + words > this.#ring.commandWords.length
    ) {
      if (this.#recording === null) this.submit();
      else {
        this.#closeRing(this.#recording);
        this.#ring = this.#free.pop() ?? this.#newRing();
      }
    }
    const ring = this.#ring;
    if (words <= ring.commandWords.length) return;
    const size = 2 ** Math.ceil(Math.log2(words));
    this.release(ring.commands);
    ring.commands.destroy();
    ring.commandWords = new Uint32Array(size);
    ring.commands = this.#commandBuffer(size);
  }

  /** Puts words into the commands; returns the index of the first. */
  table(words: ArrayLike<number>): number {
    const ring = this.#ring;
    const first = ring.commandCount;
    ring.commandWords.set(words, first);
    ring.commandCount += words.length;
    return first;
  }

  dispatch({ kernel, buffers, table, entries = 0, first = 0, groups }: Dispatch): void {
    if (groups.includes(0)) return;
    this.#job?.add(this.#submission);
    const ring = this.#ring;
    const at = ring.jobCount++ * (JOB_STRIDE / 4);
    ring.jobWords.set([table, entries, 0, first], at);
    const pass = this.#computePass();
    pass.setPipeline(kernel.pipeline);
    pass.setBindGroup(0, this.#bindGroup(kernel, buffers), [at * 4]);
    pass.dispatchWorkgroups(...groups);
  }

  /** Submits what is recorded in its own encoder; nothing while a caller's encoder is recorded into. */
  submit(): void {
    if (this.#recording !== null || this.#encoder === null) return;
    this.#endPass();
    this.#writeRing(this.#own);
    const encoder = this.#encoder;
    this.#encoder = null;
    this.#checked(() => this.#device.queue.submit([encoder.finish()]));
    this.#submission = new Submission();
  }

  /** Forgets bind groups of a buffer that is about to be destroyed. */
  release(buffer: GPUBuffer): void {
    const id = String(this.#idOf(buffer));
    for (const key of this.#bindGroups.keys())
      if (key.split(',').some((part) => part.split('+')[0] === id)) this.#bindGroups.delete(key);
  }

  dispose(): void {
    this.#encoder = null;
    this.#pass = null;
    this.#bindGroups.clear();
    for (const ring of [this.#own, ...this.#free, ...this.#unsubmitted.flatMap((r) => r.rings)])
      this.#destroy(ring);
    this.#free.length = 0;
    this.#unsubmitted.length = 0;
  }

  #destroy({ jobs, commands }: Ring): void {
    for (const buffer of [jobs, commands]) {
      this.release(buffer);
      buffer.destroy();
    }
  }

  #submitted(recording: OpenRecording): void {
    const at = this.#unsubmitted.indexOf(recording);
    if (at < 0) return;
    this.#unsubmitted.splice(at, 1);
    this.#free.push(...recording.rings);
    for (const action of recording.after) action();
  }

  #closeRing(recording: OpenRecording): void {
    this.#writeRing(this.#ring);
    recording.rings.push(this.#ring);
  }

  #writeRing(ring: Ring): void {
    const { queue } = this.#device;
    if (ring.jobCount > 0)
      queue.writeBuffer(ring.jobs, 0, ring.jobWords, 0, (ring.jobCount * JOB_STRIDE) / 4);
    if (ring.commandCount > 0)
      queue.writeBuffer(ring.commands, 0, ring.commandWords, 0, ring.commandCount);
    ring.jobCount = 0;
    ring.commandCount = 0;
  }

  #newRing(): Ring {
    return {
      jobs: this.#device.createBuffer({
        label: 'lowbit-kv jobs',
        size: JOBS * JOB_STRIDE,
        usage: 0x48, // UNIFORM | COPY_DST
      }),
      jobWords: new Uint32Array((JOBS * JOB_STRIDE) / 4),
      commands: this.#commandBuffer(COMMAND_WORDS),
      commandWords: new Uint32Array(COMMAND_WORDS),
      jobCount: 0,
      commandCount: 0,
    };
  }

  #commandBuffer(words: number): GPUBuffer {
    const usage = 0x88; // STORAGE | COPY_DST
    return this.#device.createBuffer({ label: 'lowbit-kv commands', size: words * 4, usage });
  }

  #bindGroup(kernel: Kernel, buffers: readonly Bound[]): GPUBindGroup {
    const { jobs, commands } = this.#ring;
    const bound = buffers.map(boundPart);
    const key = [
      ...[kernel.layout, jobs, commands].map((object) => this.#idOf(object)),
      ...bound.map(({ buffer, offset, size = '' }) => `${this.#idOf(buffer)}+${offset}+${size}`),
    ].join();
    let group = this.#bindGroups.get(key);
    if (group === undefined) {
      this.#checked(() => {
        group = this.#device.createBindGroup({
          layout: kernel.layout,
          entries: [
            { binding: 0, resource: { buffer: jobs, size: JOB_BYTES } },
            { binding: 1, resource: { buffer: commands } },
            ...bound.map((resource, i) => ({ binding: i + 2, resource })),
          ],
        });
      });
      // Buffers of callers come and go.
      if (this.#bindGroups.size >= MOST_BIND_GROUPS) this.#bindGroups.clear();
      this.#bindGroups.set(key, group as unknown as GPUBindGroup);
    }
    return group as unknown as GPUBindGroup;
  }

  /** What the device says of `work` belongs to the submission. */
  #checked(work: () => void): void {
    this.#device.pushErrorScope('validation');
    this.#device.pushErrorScope('out-of-memory');
    work();
    const found = Promise.all([this.#device.popErrorScope(), this.#device.popErrorScope()]);
    this.#submission.add(
      found.then(
        (errors) => errors.find((error) => error !== null) ?? null,
        // Scopes of a lost device say nothing: `GpuContext.check` reports the loss.
        () => null,
      ),
    );
  }

  #idOf(object: object): number {
    let id = this.#ids.get(object);
    if (id === undefined) {
      id = this.#nextId++;
      this.#ids.set(object, id);
    }
    return id;
  }

  #computePass(): GPUComputePassEncoder {
    this.#pass ??= this.#openEncoder().beginComputePass();
    return this.#pass;
  }

  #endPass(): void {
    this.#pass?.end();
    this.#pass = null;
  }

  #openEncoder(): GPUCommandEncoder {
    this.#encoder ??= this.#device.createCommandEncoder();
    return this.#encoder;
  }
}

function boundPart(bound: Bound): BoundPart {
  return 'buffer' in bound ? bound : { buffer: bound, offset: 0 };
}
