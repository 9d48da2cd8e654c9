/**
 * A decode step as a CUDA graph: captured once, replayed while sequences grow and their pages change.
 *
 * The step is driven through the cache as ever, `append` and `attend` of every layer and `commit`: the first run records the
 * kernels, later ones only upload what differs and launch the graph.
 */
import { checkedCount } from './checked-count.js';
import { disposeAll } from './driver/dispose-all.js';
import { Graph } from './driver/graph.js';
import { Stream } from './driver/stream.js';
import type { Runtime } from './runtime.js';
import { notCapturable, StepSession, type StepSessionOptions } from './store/step-session.js';

export type CapturedStepOptions = StepSessionOptions;

/** What the work of a captured step is told. */
export interface StepRun {
  /** Kernels of the caller go here, between ours; they become part of the graph. */
  readonly stream: Stream;
  /** The graph runs what was enqueued in the first run: nothing is to be enqueued now. */
  readonly replays: boolean;
}

export class CapturedStep {
  readonly #runtime: Runtime;
  readonly #stream: Stream;
  readonly #session: StepSession;
  #graph: Graph | undefined;

  /** Throws OPTION_INVALID. */
  constructor(runtime: Runtime, { rows, tokens }: CapturedStepOptions) {
    const options = { rows: checkedCount('rows', rows), tokens: checkedCount('tokens', tokens) };
    this.#runtime = runtime;
    this.#stream = Stream.create(runtime.context);
    this.#session = new StepSession(options, runtime.stream, this.#stream, runtime.ring);
  }

  /**
   * Runs `work`, which drives one step of one cache and returns nothing: `append` and `attend` with tensors in device memory,
   * the same ones in every run, with `into`. Runs may have other numbers of rows: finite numbers are looked for in as many rows
   * as the memory of keys and values in the first run has, up to `rows`. Throws STEP_STATE, and runs nothing then, for a step
   * that differs from the captured one in more than pages and rows, while the step of the run before is open, and for work
   * that no graph holds (statistics of a sequence, plans on general kernels); abandon the step.
   */
  run(work: (run: StepRun) => void): void {
    const runtime = this.#runtime;
    if (runtime.session !== undefined)
      throw notCapturable('a captured step within another', 'Run them one after another.');
    const session = this.#session;
    this.#stream.ensureUsable();
    const replays = this.#graph !== undefined;
    session.begin(replays);
    runtime.session = session;
    try {
      const runOnce = () => {
        const done: unknown = work({ stream: this.#stream, replays });
        if (done instanceof Promise) throw asynchronous(done);
        session.end();
      };
      if (replays) runOnce();
      else this.#graph = Graph.capture(this.#stream, runOnce);
    } finally {
      runtime.session = undefined;
    }
    this.#graph?.run(runtime.stream);
  }

  /** Waits for what is running. Dispose it before the caches that it works on. Throws STEP_STATE while it runs. */
  dispose(): void {
    if (this.#stream.disposed) return;
    const { context, session, stream } = this.#runtime;
    if (session === this.#session)
      throw notCapturable('dispose of itself', 'Dispose it after the run.');
    if (context.lost === undefined) stream.synchronize();
    const graph = this.#graph === undefined ? [] : [this.#graph];
    disposeAll([...graph, this.#session, this.#stream]);
  }
}

function asynchronous(done: Promise<unknown>): Error {
  // What becomes of it is not the error to tell.
  done.catch(() => undefined);
  return notCapturable('work that returns a promise', 'Await before `run` and after it.');
}
