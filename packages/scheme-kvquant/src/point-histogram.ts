/**
 * Collects weighted numbers of an interval in bins so fine that levels fitted to the bins are those of the numbers.
 */
import type { WeightedPoints } from './fit-levels.js';

const BINS = 2048;

export class PointHistogram {
  readonly #low: number;
  readonly #width: number;
  readonly #mass = new Float64Array(BINS);
  readonly #moment = new Float64Array(BINS);

  constructor(low: number, high: number) {
    this.#low = low;
    this.#width = (high - low) / BINS;
  }

  /** `x` lies in the interval. */
  add(x: number, weight: number): void {
    const bin = Math.min(BINS - 1, Math.floor((x - this.#low) / this.#width));
    (this.#mass[bin] as number) += weight;
    (this.#moment[bin] as number) += weight * x;
  }

  /** The bins that hold something, each at the mean of what it holds. */
  points(): WeightedPoints {
    const used = [...this.#mass.keys()].filter((bin) => (this.#mass[bin] as number) > 0);
    const weights = Float64Array.from(used, (bin) => this.#mass[bin] as number);
    const positions = Float64Array.from(
      used,
      (bin, i) => (this.#moment[bin] as number) / (weights[i] as number),
    );
    return { positions, weights };
  }
}
