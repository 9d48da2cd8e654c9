/**
 * Transforms before quantization and their inverses, docs/law.md 7.
 *
 * Packing applies them in order, in f32 with one rounding per operation. Attention applies what cancels them: on the query
 * for keys, on the weighted sum of packed values for values, in float64.
 */
import type { TensorPlan } from '../plan/plan.js';
import { isMeasured, transformsOf } from './transform-numbers.js';
import { fixedStep, measuredStep, type TransformStep } from './transform-steps.js';

/** The transforms of one tensor, with the statistics of one sequence. */
export class Transforms {
  readonly #steps: readonly TransformStep[];

  private constructor(steps: readonly TransformStep[]) {
    this.#steps = steps;
  }

  /** Null when the tensor has none. `statistics` is a statistics page: f16 bits `[measured transforms, heads, headDim]`. */
  static of(plan: TensorPlan, statistics: Uint16Array | null): Transforms | null {
    const { heads, headDim } = plan;
    const transforms = transformsOf(plan);
    if (transforms.length === 0) return null;
    const width = heads * headDim;
    let plane = 0;
    const steps = transforms.map((transform) => {
      if (!isMeasured(transform)) return fixedStep(transform, plan);
      const bits = (statistics as Uint16Array).subarray(plane * width, ++plane * width);
      return measuredStep(transform, bits, headDim);
    });
    return new Transforms(steps);
  }

  /** Transforms the channels of one head of one token in place: `headDim` values from `at` on. */
  apply(values: Float32Array, at: number, head: number): void {
    for (const step of this.#steps) step.apply(values, at, head);
  }

  /** Turns a query row in place into what meets transformed keys; returns what is added to each of its dot products. */
  applyToQuery(query: Float64Array, at: number, head: number): number {
    return this.#steps.reduce((sum, step) => sum + step.applyToQuery(query, at, head), 0);
  }

  /** Undoes the transforms of a sum of transformed vectors whose weights add up to `weight`, in place. */
  invert(sum: Float64Array, at: number, head: number, weight: number): void {
    for (const step of this.#steps.toReversed()) step.invert(sum, at, head, weight);
  }
}
