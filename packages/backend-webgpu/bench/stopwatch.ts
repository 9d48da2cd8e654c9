/**
 * Times on the GPU's clock between places of a command encoder, and of passes that follow warm ones in it.
 */
import type { Recording } from '../src/device/recorder.js';

const BYTES = 8;

export class Stopwatch {
  readonly #device: GPUDevice;
  readonly #queries: GPUQuerySet;
  readonly #resolved: GPUBuffer;
  readonly #staging: GPUBuffer;
  #used = 0;

  /** Room for so many places. The device needs the feature timestamp-query. */
  constructor(device: GPUDevice, places: number) {
    this.#device = device;
    this.#queries = device.createQuerySet({ type: 'timestamp', count: places });
    const size = places * BYTES;
    this.#resolved = device.createBuffer({ size, usage: 0x204 }); // QUERY_RESOLVE | COPY_SRC
    this.#staging = device.createBuffer({ size, usage: 0x9 }); // MAP_READ | COPY_DST
  }

  /** Notes when everything recorded so far has run: the end of a pass without work. */
  note(encoder: GPUCommandEncoder): void {
    encoder
      .beginComputePass({
        timestampWrites: { querySet: this.#queries, endOfPassWriteIndex: this.#used++ },
      })
      .end();
  }

  /** Submits at once, and gives the microseconds from each place to the next. */
  async submit(encoder: GPUCommandEncoder): Promise<number[]> {
    const size = this.#used * BYTES;
    encoder.resolveQuerySet(this.#queries, 0, this.#used, this.#resolved, 0);
    encoder.copyBufferToBuffer(this.#resolved, 0, this.#staging, 0, size);
    this.#device.queue.submit([encoder.finish()]);
    await this.#staging.mapAsync(1, 0, size); // GPUMapMode.READ
    const times = new BigUint64Array(this.#staging.getMappedRange(0, size).slice(0));
    this.#staging.unmap();
    this.#used = 0;
    return Array.from(times.slice(1), (time, i) => Number(time - (times[i] as bigint)) / 1000);
  }

  dispose(): void {
    this.#queries.destroy();
    this.#resolved.destroy();
    this.#staging.destroy();
  }
}

/** What records into encoders of a device: a backend, or the recorder of one. */
export interface Recordable {
  readonly device: GPUDevice;
  readonly recorder: { record(encoder: GPUCommandEncoder, work: () => void): Recording };
}

/** Records into one encoder, submits, and gives the microseconds between the notes. */
export async function timed(
  { device, recorder }: Recordable,
  stopwatch: Stopwatch,
  work: (record: (work: () => void) => void, note: () => void, encoder: GPUCommandEncoder) => void,
): Promise<number[]> {
  const encoder = device.createCommandEncoder();
  const recordings: Recording[] = [];
  work(
    (part) => recordings.push(recorder.record(encoder, part)),
    () => stopwatch.note(encoder),
    encoder,
  );
  const times = stopwatch.submit(encoder);
  for (const recording of recordings) recording.submitted();
  return times;
}

export interface WarmPasses {
  readonly warm: number;
  readonly timed: number;
  readonly repeats: number;
  /** Recorded before the warm passes: what brings the clocks up. */
  readonly heat?: () => void;
  /** Called when the passes of a repeat were submitted. */
  readonly after?: () => void;
}

/** Microseconds of one pass, the median of the repeats. `run` records so many passes. */
export async function timeWarm(
  target: Recordable,
  { warm, timed: count, repeats, heat, after }: WarmPasses,
  run: (passes: number) => void,
): Promise<number> {
  const stopwatch = new Stopwatch(target.device, 2);
  const times: number[] = [];
  for (let repeat = 0; repeat < repeats; repeat++) {
    const [microseconds = Number.NaN] = await timed(target, stopwatch, (record, note) => {
      record(() => {
        heat?.();
        run(warm);
      });
      note();
      record(() => run(count));
      note();
    });
    after?.();
    times.push(microseconds / count);
  }
  stopwatch.dispose();
  return median(times);
}

export function median(values: readonly number[]): number {
  return [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)] as number;
}
