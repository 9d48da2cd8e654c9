/**
 * A CUDA graph: the work of a function in a stream, recorded once and replayed with one call.
 */
import { CU } from './constants.js';
import type { Context, Disposable } from './context.js';
import { Resource } from './resource.js';
import { RESULT } from './results.js';
import type { Stream } from './stream.js';

export class Graph extends Resource {
  /** CUgraphExec. */
  readonly handle: bigint;
  readonly #retained: readonly Disposable[];

  private constructor(context: Context, handle: bigint, retained: readonly Disposable[]) {
    super(context, 'the graph');
    this.handle = handle;
    this.#retained = retained;
  }

  /**
   * Records what `work` enqueues in `stream`, and in streams that wait for events of it and are waited for again. Nothing
   * runs. Pointers, parameters and grids are those of now; memory they name must outlive the graph. `work` must not
   * synchronize. `stream` may be any but the legacy default stream.
   */
  static capture(stream: Stream, work: () => void): Graph {
    stream.ensureUsable();
    const { context } = stream;
    const { driver } = context;
    return context.run(() => {
      // Calls that are no work of a stream, as allocations, stay allowed, in this thread and in others.
      const mode = CU.STREAM_CAPTURE_MODE_RELAXED;
      const begun = driver.cuStreamBeginCapture_v2(stream.handle, mode);
      context.check('cuStreamBeginCapture_v2', begun, { message: 'the stream cannot be captured' });
      const graph = new BigUint64Array(1);
      const end = () => driver.cuStreamEndCapture(stream.handle, graph);
      let retained: Disposable[];
      try {
        retained = context.collectRetained(work);
      } catch (error) {
        // The error of `work` is the one to tell; a capture it broke gives no graph.
        if (end() === RESULT.SUCCESS && graph[0] !== 0n) driver.cuGraphDestroy(graph[0]!);
        throw error;
      }
      try {
        context.check('cuStreamEndCapture', end(), {
          message: 'the work cannot be captured',
          next: 'Capture work of streams only: no synchronization, and every stream that joined is waited for.',
        });
        try {
          return new Graph(context, instantiate(context, graph[0]!), retained);
        } finally {
          context.check('cuGraphDestroy', driver.cuGraphDestroy(graph[0]!));
        }
      } catch (error) {
        for (const resource of retained) resource.dispose();
        throw error;
      }
    });
  }

  /** Enqueues all of it. Replays of one graph run one after another, whatever their streams. */
  run(stream: Stream): void {
    this.ensureUsable();
    stream.ensureUsable();
    const { context } = this;
    context.enter();
    try {
      context.check('cuGraphLaunch', context.driver.cuGraphLaunch(this.handle, stream.handle));
    } finally {
      context.leave();
    }
  }

  /** Replays must have run. */
  protected override release(): void {
    const result = this.context.driver.cuGraphExecDestroy(this.handle);
    for (const resource of this.#retained) resource.dispose();
    this.context.check('cuGraphExecDestroy', result);
  }
}

function instantiate(context: Context, graph: bigint): bigint {
  const handle = new BigUint64Array(1);
  const result = context.driver.cuGraphInstantiateWithFlags(handle, graph, 0n);
  context.check('cuGraphInstantiateWithFlags', result, { message: 'the graph cannot be made' });
  return handle[0]!;
}
