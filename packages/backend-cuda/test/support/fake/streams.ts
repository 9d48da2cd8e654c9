/**
 * Streams, events and graphs of the fake driver. Work waits in its stream until somebody waits for it or asks about it,
 * so that what runs too early or too late on a card does so here.
 */
import { RESULT } from '../../../src/driver/results.js';
import { FakeViolation } from './violation.js';

const STREAM_CAPTURE_UNJOINED = 904;
const STREAM_CAPTURE_ISOLATION = 905;
const CAPTURED_EVENT = 907;

type Work = () => void;

export interface FakeStream {
  readonly context: bigint;
  readonly queue: Work[];
  capture: Capture | undefined;
}

interface Marker {
  readonly stream: FakeStream;
  done: boolean;
  /** Milliseconds of a clock that counts work. */
  time: number;
}

export interface FakeEvent {
  readonly context: bigint;
  readonly timing: boolean;
  marker: Marker | undefined;
  /** Where it was last recorded, when that was in a capture. */
  captured:
    | { readonly capture: Capture; readonly stream: FakeStream; readonly step: number }
    | undefined;
}

interface Capture {
  readonly origin: FakeStream;
  readonly works: Work[];
  /** Streams that joined, with how many works each has added. */
  readonly steps: Map<FakeStream, number>;
  /** Joined streams that nobody waits for yet. */
  readonly unjoined: Set<FakeStream>;
  invalid: boolean;
}

export class FakeStreams {
  #clock = 0;

  create(context: bigint): FakeStream {
    return { context, queue: [], capture: undefined };
  }

  createEvent(context: bigint, timing: boolean): FakeEvent {
    return { context, timing, marker: undefined, captured: undefined };
  }

  enqueue(stream: FakeStream, work: Work): number {
    const { capture } = stream;
    if (capture === undefined) {
      stream.queue.push(work);
      return RESULT.SUCCESS;
    }
    if (capture.invalid) return RESULT.STREAM_CAPTURE_INVALIDATED;
    capture.works.push(work);
    capture.steps.set(stream, capture.steps.get(stream)! + 1);
    if (stream !== capture.origin) capture.unjoined.add(stream);
    return RESULT.SUCCESS;
  }

  /** Runs everything in the stream. */
  synchronize(stream: FakeStream): number {
    if (stream.capture !== undefined) return this.#forbidden(stream.capture);
    while (stream.queue.length > 0) this.#step(stream);
    return RESULT.SUCCESS;
  }

  /** Runs one piece of work, and says whether any is left. */
  query(stream: FakeStream): number {
    if (stream.capture !== undefined) return this.#forbidden(stream.capture);
    if (stream.queue.length === 0) return RESULT.SUCCESS;
    this.#step(stream);
    return RESULT.NOT_READY;
  }

  record(stream: FakeStream, event: FakeEvent): number {
    const { capture } = stream;
    if (capture !== undefined) {
      event.captured = { capture, stream, step: capture.steps.get(stream)! };
      return RESULT.SUCCESS;
    }
    const marker: Marker = { stream, done: false, time: 0 };
    event.captured = undefined;
    event.marker = marker;
    return this.enqueue(stream, () => {
      marker.done = true;
      marker.time = this.#clock;
    });
  }

  wait(stream: FakeStream, event: FakeEvent): number {
    const { captured, marker } = event;
    if (captured !== undefined) {
      const { capture, stream: source, step } = captured;
      if (capture.steps.get(source) === step) capture.unjoined.delete(source);
      if (stream.capture === undefined) {
        if (stream.queue.length > 0) throw new FakeViolation('a stream with work joins a capture');
        stream.capture = capture;
        capture.steps.set(stream, 0);
        capture.unjoined.add(stream);
      }
      return RESULT.SUCCESS;
    }
    if (marker === undefined) return RESULT.SUCCESS;
    if (stream.capture !== undefined) {
      // A graph cannot wait for work outside of it.
      stream.capture.invalid = true;
      return STREAM_CAPTURE_ISOLATION;
    }
    return this.enqueue(stream, () => this.#reach(marker));
  }

  queryEvent(event: FakeEvent): number {
    if (event.captured !== undefined) return CAPTURED_EVENT;
    const { marker } = event;
    if (marker === undefined || marker.done) return RESULT.SUCCESS;
    this.#step(marker.stream);
    return RESULT.NOT_READY;
  }

  synchronizeEvent(event: FakeEvent): number {
    if (event.captured !== undefined) return CAPTURED_EVENT;
    if (event.marker !== undefined) this.#reach(event.marker);
    return RESULT.SUCCESS;
  }

  /** Milliseconds between two events, or a CUresult. */
  elapsed(start: FakeEvent, end: FakeEvent): { milliseconds: number } | { result: number } {
    if (!start.timing || !end.timing) return { result: RESULT.INVALID_HANDLE };
    if (start.marker === undefined || end.marker === undefined)
      return { result: RESULT.INVALID_HANDLE };
    if (!start.marker.done || !end.marker.done) return { result: RESULT.NOT_READY };
    return { milliseconds: end.marker.time - start.marker.time };
  }

  beginCapture(stream: FakeStream): number {
    if (stream.capture !== undefined) return RESULT.INVALID_VALUE;
    const capture: Capture = {
      origin: stream,
      works: [],
      steps: new Map([[stream, 0]]),
      unjoined: new Set(),
      invalid: false,
    };
    stream.capture = capture;
    return RESULT.SUCCESS;
  }

  /** Works in the order of the calls, which is one of the orders that the graph allows; or a CUresult. */
  endCapture(stream: FakeStream): readonly Work[] | number {
    const { capture } = stream;
    if (capture === undefined) return RESULT.STREAM_CAPTURE_UNMATCHED;
    for (const joined of capture.steps.keys()) joined.capture = undefined;
    if (capture.invalid) return RESULT.STREAM_CAPTURE_INVALIDATED;
    return capture.unjoined.size > 0 ? STREAM_CAPTURE_UNJOINED : capture.works;
  }

  #forbidden(capture: Capture): number {
    capture.invalid = true;
    return RESULT.STREAM_CAPTURE_UNSUPPORTED;
  }

  #step(stream: FakeStream): void {
    this.#clock += 1;
    stream.queue.shift()!();
  }

  #reach(marker: Marker): void {
    while (!marker.done) {
      if (marker.stream.queue.length === 0) throw new FakeViolation('an event can never happen');
      this.#step(marker.stream);
    }
  }
}
