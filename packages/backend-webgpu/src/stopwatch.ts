/**
 * Times on the GPU's clock between places of a command encoder.
 */
import type { Recording } from './device/recorder.js';

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

/** What records into encoders of a device, such as `{ device, recorder: backend }`. */
export interface Recordable {
  readonly device: GPUDevice;
  readonly recorder: { record(encoder: GPUCommandEncoder, work: () => void): Recording };
}

/** Records into one encoder, submits, and gives the microseconds between the notes; pass work to `record`. */
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
