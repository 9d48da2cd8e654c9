/**
 * Times of work on a GPUDevice: by its timestamps, or by the host's clock where it has none.
 */
import { Stopwatch, timed, type WebGpuBackend } from '@lowbit-kv/backend-webgpu';
import { type BenchDevice, pause, repeatOnHost, repeatsOf } from '@lowbit-kv/harness';

export interface GpuClock extends Pick<BenchDevice, 'once' | 'repeat'> {
  /** Microseconds of each; `copy` records one. */
  copies(copy: (encoder: GPUCommandEncoder) => void, samples: number): Promise<number[]>;
}

/** The device has the feature timestamp-query. */
export function timestampClock(backend: WebGpuBackend): GpuClock {
  const { device } = backend;
  const target = { device, recorder: backend };
  const withStopwatch = async <Result>(
    places: number,
    work: (stopwatch: Stopwatch) => Promise<Result>,
  ): Promise<Result> => {
    const stopwatch = new Stopwatch(device, places);
    try {
      return await work(stopwatch);
    } finally {
      stopwatch.dispose();
    }
  };
  return {
    once: (work, settle) =>
      withStopwatch(2, async (stopwatch) => {
        const [time] = await timed(target, stopwatch, (record, note) => {
          note();
          record(work);
          note();
        });
        await settle();
        return time as number;
      }),
    repeat: (attend, { layers, samples, warmUpMilliseconds, signal }) =>
      withStopwatch(samples + 1, async (stopwatch) => {
        let attended = 0;
        /** Microseconds of one attend in each of some samples, after as many that do not count. */
        const run = async (count: number, each: number) => {
          await pause(signal);
          const work = () => {
            for (let i = 0; i < each; i++) attend(attended++ % layers);
          };
          const times = await timed(target, stopwatch, (record, note) => {
            record(work);
            note();
            for (let sample = 0; sample < count; sample++) {
              record(work);
              note();
            }
          });
          return times.map((time) => time / each);
        };
        const began = performance.now();
        let each = 1;
        do {
          const [estimate] = await run(1, each);
          each = repeatsOf(estimate as number);
        } while (attended < layers || performance.now() - began < warmUpMilliseconds);
        return run(samples, each);
      }),
    copies: (copy, samples) =>
      withStopwatch(samples + 1, (stopwatch) => {
        const encoder = device.createCommandEncoder();
        for (let sample = 0; sample <= samples; sample++) {
          copy(encoder);
          stopwatch.note(encoder);
        }
        return stopwatch.submit(encoder);
      }),
  };
}

/** From the call to the end of all work in the queue. */
export function hostClock(device: GPUDevice): GpuClock {
  const finished = () => device.queue.onSubmittedWorkDone();
  const elapsed = async (work: () => Promise<void>) => {
    const start = performance.now();
    await work();
    return 1000 * (performance.now() - start);
  };
  return {
    once: (work, settle) =>
      elapsed(async () => {
        work();
        await settle();
        await finished();
      }),
    repeat: (attend, options) =>
      repeatOnHost(async (layer) => {
        attend(layer);
        await finished();
      }, options),
    async copies(copy, samples) {
      const times: number[] = [];
      // The first one maps the pages.
      for (let sample = 0; sample <= samples; sample++) {
        const encoder = device.createCommandEncoder();
        copy(encoder);
        times.push(
          await elapsed(() => {
            device.queue.submit([encoder.finish()]);
            return finished();
          }),
        );
      }
      return times.slice(1);
    },
  };
}
