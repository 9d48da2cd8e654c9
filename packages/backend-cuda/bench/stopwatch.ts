/**
 * Times replays of a graph: bursts after a pause, and what a card holds out.
 */
import { setTimeout as pause } from 'node:timers/promises';
import type { Context } from '../src/driver/context.js';
import { Event } from '../src/driver/event.js';
import type { Graph } from '../src/driver/graph.js';
import type { Stream } from '../src/driver/stream.js';

const BURST_REPLAYS = 25;
const PAUSE_MILLISECONDS = 1000;
const SUSTAINED_MILLISECONDS = 900;

export interface Times {
  /** Median of 25 replays after a second of rest, microseconds. */
  readonly burst: number;
  /** Median of the last third of 0.9 s of replays, microseconds. */
  readonly sustained: number;
}

export class Stopwatch {
  readonly #context: Context;
  readonly #stream: Stream;

  constructor(context: Context, stream: Stream) {
    this.#context = context;
    this.#stream = stream;
  }

  async time(graph: Graph, { sustained = true } = {}): Promise<Times> {
    graph.run(this.#stream);
    this.#stream.synchronize();
    await pause(PAUSE_MILLISECONDS);
    const burst = this.#replays(graph, BURST_REPLAYS);
    const median = medianOf(burst);
    if (!sustained) return { burst: median, sustained: Number.NaN };
    const count = Math.max(9, Math.ceil((1000 * SUSTAINED_MILLISECONDS) / median));
    const all = this.#replays(graph, Math.min(count, 20_000));
    return { burst: median, sustained: medianOf(all.slice(Math.floor((2 * all.length) / 3))) };
  }

  /** Microseconds of each. */
  #replays(graph: Graph, count: number): number[] {
    const events = Array.from({ length: count + 1 }, () =>
      Event.create(this.#context, { timing: true }),
    );
    try {
      return this.#context.run(() => {
        events[0]!.record(this.#stream);
        for (let replay = 1; replay <= count; replay++) {
          graph.run(this.#stream);
          events[replay]!.record(this.#stream);
        }
        this.#stream.synchronize();
        return events
          .slice(1)
          .map((event, index) => 1000 * event.millisecondsSince(events[index]!));
      });
    } finally {
      for (const event of events) event.dispose();
    }
  }
}

function medianOf(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[sorted.length >> 1] as number;
}
