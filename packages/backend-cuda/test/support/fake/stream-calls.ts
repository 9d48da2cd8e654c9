/**
 * Stream, event and graph calls of the fake driver.
 */
import type { CudaFunctions } from '../../../src/driver/functions.js';
import { RESULT } from '../../../src/driver/results.js';
import type { FakeContext, FakeState } from './state.js';
import type { FakeEvent, FakeStream } from './streams.js';

type Calls = Pick<
  CudaFunctions,
  Extract<keyof CudaFunctions, `cuStream${string}` | `cuEvent${string}` | `cuGraph${string}`>
>;

const DISABLE_TIMING = 2;
const NOT_CAPTURING = 0;
const CAPTURING = 1;
const INVALIDATED = 2;

export function streamCalls(
  state: FakeState,
  inContext: (work: (context: FakeContext) => number) => number,
): Calls {
  const { streams } = state;
  const set = (out: unknown, handle: bigint) => {
    (out as BigUint64Array)[0] = handle;
    return RESULT.SUCCESS;
  };
  const withStream = (handle: bigint, work: (stream: FakeStream, context: FakeContext) => number) =>
    inContext((context) => {
      const stream = state.stream(handle, context);
      return stream === undefined ? RESULT.INVALID_HANDLE : work(stream, context);
    });
  const withEvent = (handle: bigint, work: (event: FakeEvent, context: FakeContext) => number) =>
    inContext((context) => {
      const event = state.event(handle);
      return event === undefined ? RESULT.INVALID_HANDLE : work(event, context);
    });
  const create = (out: unknown) =>
    inContext((context) =>
      set(out, state.add('stream', context.handle, streams.create(context.handle))),
    );
  const destroy = (kind: 'event' | 'graph' | 'graphExec', handle: bigint) =>
    inContext((context) => {
      if (state.get(kind, handle, context) === undefined) return RESULT.INVALID_HANDLE;
      state.remove(handle);
      return RESULT.SUCCESS;
    });

  return {
    cuStreamCreate: (out) => create(out),
    cuStreamCreateWithPriority: (out) => create(out),
    cuStreamDestroy_v2: (handle) =>
      inContext((context) => {
        const stream = state.get('stream', handle, context);
        if (stream === undefined) return RESULT.INVALID_HANDLE;
        // Work in it still runs on a card; here it runs now.
        const result = state.guarded(context, () => streams.synchronize(stream));
        state.remove(handle);
        return result;
      }),
    cuStreamSynchronize: (handle) =>
      withStream(handle, (stream, context) =>
        state.guarded(context, () => streams.synchronize(stream)),
      ),
    cuStreamQuery: (handle) =>
      withStream(handle, (stream, context) => state.guarded(context, () => streams.query(stream))),
    cuStreamWaitEvent: (handle, event) =>
      withStream(handle, (stream) => withEvent(event, (awaited) => streams.wait(stream, awaited))),
    cuStreamBeginCapture_v2: (handle) =>
      withStream(handle, (stream, context) =>
        stream === context.defaultStream && handle !== 2n
          ? RESULT.STREAM_CAPTURE_UNSUPPORTED
          : streams.beginCapture(stream),
      ),
    cuStreamEndCapture: (handle, out) =>
      withStream(handle, (stream, context) => {
        const works = streams.endCapture(stream);
        return typeof works === 'number'
          ? works
          : set(out, state.add('graph', context.handle, works));
      }),
    cuStreamIsCapturing: (handle, out) =>
      withStream(handle, ({ capture }) => {
        const active = capture?.invalid === true ? INVALIDATED : CAPTURING;
        (out as Int32Array)[0] = capture === undefined ? NOT_CAPTURING : active;
        return RESULT.SUCCESS;
      }),

    cuEventCreate: (out, flags) =>
      inContext(({ handle }) => {
        const event = streams.createEvent(handle, (flags & DISABLE_TIMING) === 0);
        return set(out, state.add('event', handle, event));
      }),
    cuEventDestroy_v2: (handle) => destroy('event', handle),
    cuEventRecord: (handle, stream) =>
      withEvent(handle, (event, context) => {
        const target = state.stream(stream, context);
        if (target === undefined || event.context !== context.handle) return RESULT.INVALID_HANDLE;
        return streams.record(target, event);
      }),
    cuEventQuery: (handle) =>
      withEvent(handle, (event, context) =>
        state.guarded(context, () => streams.queryEvent(event)),
      ),
    cuEventSynchronize: (handle) =>
      withEvent(handle, (event, context) =>
        state.guarded(context, () => streams.synchronizeEvent(event)),
      ),
    cuEventElapsedTime: (out, start, end) =>
      withEvent(start, (from) =>
        withEvent(end, (to) => {
          const elapsed = streams.elapsed(from, to);
          if ('result' in elapsed) return elapsed.result;
          (out as Float32Array)[0] = elapsed.milliseconds;
          return RESULT.SUCCESS;
        }),
      ),

    cuGraphInstantiateWithFlags: (out, handle) =>
      inContext((context) => {
        const works = state.get('graph', handle, context);
        if (works === undefined) return RESULT.INVALID_VALUE;
        return set(out, state.add('graphExec', context.handle, works));
      }),
    cuGraphDestroy: (handle) => destroy('graph', handle),
    cuGraphExecDestroy: (handle) => destroy('graphExec', handle),
    cuGraphLaunch: (handle, stream) =>
      withStream(stream, (target, context) => {
        const works = state.get('graphExec', handle, context);
        if (works === undefined) return RESULT.INVALID_VALUE;
        for (const work of works) {
          const result = streams.enqueue(target, work);
          if (result !== RESULT.SUCCESS) return result;
        }
        return RESULT.SUCCESS;
      }),
  };
}
