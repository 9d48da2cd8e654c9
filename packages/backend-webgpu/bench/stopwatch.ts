/**
 * Times on the GPU's clock of passes that follow warm ones in a command encoder.
 */
import { spreadOf } from '@lowbit-kv/core/testing';
import { type Recordable, Stopwatch, timed } from '../src/stopwatch.js';

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
  return spreadOf(times).median;
}
