/**
 * A point in a stream: other streams and the host can wait for it.
 */
import { CU } from './constants.js';
import type { Context } from './context.js';
import { Resource } from './resource.js';
import { RESULT } from './results.js';
import type { Stream } from './stream.js';

export interface EventOptions {
  /** Takes times for `millisecondsSince`; events without are cheaper. */
  readonly timing?: boolean;
}

export class Event extends Resource {
  /** CUevent. */
  readonly handle: bigint;

  private constructor(context: Context, handle: bigint, own: boolean) {
    super(context, 'the event', own);
    this.handle = handle;
  }

  static create(context: Context, { timing = false }: EventOptions = {}): Event {
    return context.run(() => {
      const handle = new BigUint64Array(1);
      const result = context.driver.cuEventCreate(
        handle,
        timing ? CU.EVENT_DEFAULT : CU.EVENT_DISABLE_TIMING,
      );
      context.check('cuEventCreate', result);
      return new Event(context, handle[0]!, true);
    });
  }

  /** An event of the caller, who destroys it. */
  static of(context: Context, handle: bigint): Event {
    return new Event(context, handle, false);
  }

  /** The event happens when everything now in the stream has run. */
  record(stream: Stream): void {
    this.ensureUsable();
    stream.ensureUsable();
    const { context } = this;
    context.enter();
    try {
      context.check('cuEventRecord', context.driver.cuEventRecord(this.handle, stream.handle));
    } finally {
      context.leave();
    }
  }

  /** Whether what was recorded has run; true when nothing was recorded. */
  happened(): boolean {
    this.ensureUsable();
    const { context } = this;
    return context.run(() => {
      const result = context.driver.cuEventQuery(this.handle);
      if (result === RESULT.NOT_READY) return false;
      context.check('cuEventQuery', result);
      return true;
    });
  }

  /** Blocks the thread until the event has happened. */
  synchronize(): void {
    this.ensureUsable();
    const { context } = this;
    context.run(() =>
      context.check('cuEventSynchronize', context.driver.cuEventSynchronize(this.handle)),
    );
  }

  /** Time between two events with timing, both of which have happened. */
  millisecondsSince(start: Event): number {
    this.ensureUsable();
    start.ensureUsable();
    const { context } = this;
    return context.run(() => {
      const milliseconds = new Float32Array(1);
      const result = context.driver.cuEventElapsedTime(milliseconds, start.handle, this.handle);
      context.check('cuEventElapsedTime', result);
      return milliseconds[0]!;
    });
  }

  protected override release(): void {
    this.context.check('cuEventDestroy_v2', this.context.driver.cuEventDestroy_v2(this.handle));
  }
}
