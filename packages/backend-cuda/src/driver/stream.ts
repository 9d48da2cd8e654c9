/**
 * A stream: work in it runs in order. Ours, or a handle of the caller.
 */
import { CU } from './constants.js';
import type { Context } from './context.js';
import { Event } from './event.js';
import { Resource } from './resource.js';
import { RESULT } from './results.js';

/** How long `finished` asks at every turn of the event loop before it asks once a millisecond. */
const EAGER_MILLISECONDS = 2;

export interface StreamOptions {
  /** Lower runs first; the range is the device's, 0 is the lowest priority. */
  readonly priority?: number;
}

export class Stream extends Resource {
  /** CUstream. 0n is the legacy default stream, 2n the default stream of the thread. */
  readonly handle: bigint;
  readonly #status = new Int32Array(1);

  private constructor(context: Context, handle: bigint, own: boolean) {
    super(context, 'the stream', own);
    this.handle = handle;
  }

  /** A stream that does not wait for the legacy default stream, nor that for it. */
  static create(context: Context, { priority }: StreamOptions = {}): Stream {
    return context.run(() => {
      const { driver } = context;
      const handle = new BigUint64Array(1);
      if (priority === undefined) {
        context.check('cuStreamCreate', driver.cuStreamCreate(handle, CU.STREAM_NON_BLOCKING));
      } else {
        const result = driver.cuStreamCreateWithPriority(handle, CU.STREAM_NON_BLOCKING, priority);
        context.check('cuStreamCreateWithPriority', result);
      }
      return new Stream(context, handle[0]!, true);
    });
  }

  /** A stream of the caller, who destroys it after everything of ours in it has run. */
  static of(context: Context, handle: bigint): Stream {
    return new Stream(context, handle, false);
  }

  /** Blocks the thread until everything in the stream has run. */
  synchronize(): void {
    this.ensureUsable();
    const { context } = this;
    context.run(() =>
      context.check('cuStreamSynchronize', context.driver.cuStreamSynchronize(this.handle)),
    );
  }

  /** Whether everything in the stream has run. */
  isIdle(): boolean {
    this.ensureUsable();
    const { context } = this;
    return context.run(() => {
      const result = context.driver.cuStreamQuery(this.handle);
      if (result === RESULT.NOT_READY) return false;
      context.check('cuStreamQuery', result);
      return true;
    });
  }

  /** Resolves when everything that is in the stream now has run; the thread goes on meanwhile. */
  async finished(): Promise<void> {
    this.ensureUsable();
    const event = Event.create(this.context);
    try {
      event.record(this);
      const start = performance.now();
      while (!event.happened()) {
        await (performance.now() - start < EAGER_MILLISECONDS
          ? new Promise<void>((resolve) => setImmediate(resolve))
          : new Promise<void>((resolve) => setTimeout(resolve, 1)));
      }
    } finally {
      event.dispose();
    }
  }

  /** Work that comes now runs after the event, which may be of another stream or device. */
  wait(event: Event): void {
    this.ensureUsable();
    event.ensureUsable();
    const { context } = this;
    context.enter();
    try {
      const result = context.driver.cuStreamWaitEvent(this.handle, event.handle, 0);
      context.check('cuStreamWaitEvent', result);
    } finally {
      context.leave();
    }
  }

  /** Whether calls are recorded into a graph instead of run: by `Graph.capture`, or by the caller. */
  isCapturing(): boolean {
    this.ensureUsable();
    const { context } = this;
    context.enter();
    try {
      const result = context.driver.cuStreamIsCapturing(this.handle, this.#status);
      context.check('cuStreamIsCapturing', result);
    } finally {
      context.leave();
    }
    return this.#status[0] !== CU.STREAM_CAPTURE_STATUS_NONE;
  }

  protected override release(): void {
    this.context.check('cuStreamDestroy_v2', this.context.driver.cuStreamDestroy_v2(this.handle));
  }
}
