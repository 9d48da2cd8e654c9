/**
 * Transforms before quantization and their inverses, docs/law.md 7.
 *
 * Packing applies them in order, in f32 with one rounding per operation. Attention applies what cancels them: on the query
 * for keys, on the weighted sum of packed values for values, in float64.
 */
import { LowbitKvError } from '../errors.js';
import { f16DecodeTable } from '../float16.js';
import type { TensorPlan } from '../plan/plan.js';

type Step =
  | { readonly kind: 'scale'; readonly reciprocals: Float32Array; readonly factors: Float32Array }
  | { readonly kind: 'mean'; readonly means: Float32Array }
  | { readonly kind: 'hadamard' };

/** The transforms of one tensor, with the statistics of one sequence. */
export class Transforms {
  readonly #steps: readonly Step[];
  readonly #headDim: number;

  private constructor(steps: readonly Step[], headDim: number) {
    this.#steps = steps;
    this.#headDim = headDim;
  }

  /** Null when the tensor has none. `statistics` is a statistics page: f16 bits `[measured transforms, heads, headDim]`. */
  static of(plan: TensorPlan, statistics: Uint16Array | null): Transforms | null {
    if (plan.scheme.bits === 16 || (plan.scheme.transforms ?? []).length === 0) return null;
    const width = plan.heads * plan.headDim;
    const table = f16DecodeTable();
    let plane = 0;
    const measured = () => {
      const bits = (statistics as Uint16Array).subarray(plane * width, ++plane * width);
      return Float32Array.from(bits, (pattern) => table[pattern] as number);
    };
    const steps = (plan.scheme.transforms ?? []).map((transform): Step => {
      if (transform.kind === 'hadamard') return { kind: 'hadamard' };
      // Only a backend that executes more than the law says it supports can come here.
      if (transform.scope === 'model') {
        throw new LowbitKvError('PLAN_REFUSED', {
          message: `a calibrated ${transform.kind} is not executed`,
          value: transform.kind,
          valid: 'transforms measured on the sequence, and rotations',
          next: 'Ask `unexecutedFeatures` before executing a plan.',
          where: { tensor: plan.tensor },
        });
      }
      const values = measured();
      if (transform.kind === 'channelMean') return { kind: 'mean', means: values };
      return { kind: 'scale', reciprocals: values, factors: values.map((r) => 1 / r) };
    });
    return new Transforms(steps, plan.headDim);
  }

  /** Transforms the channels of one head of one token in place: `headDim` values from `at` on. */
  apply(values: Float32Array, at: number, head: number): void {
    const dim = this.#headDim;
    const first = head * dim;
    for (const step of this.#steps) {
      if (step.kind === 'hadamard') hadamard(values, at, dim, Math.fround(1 / Math.sqrt(dim)));
      else if (step.kind === 'mean') {
        for (let c = 0; c < dim; c++)
          values[at + c] = (values[at + c] as number) - (step.means[first + c] as number);
      } else {
        for (let c = 0; c < dim; c++)
          values[at + c] = (values[at + c] as number) * (step.reciprocals[first + c] as number);
      }
    }
  }

  /** Turns a query row in place into what meets transformed keys; returns what is added to each of its dot products. */
  applyToQuery(query: Float64Array, at: number, head: number): number {
    const dim = this.#headDim;
    const first = head * dim;
    let added = 0;
    for (const step of this.#steps) {
      if (step.kind === 'hadamard') hadamard(query, at, dim, 1 / Math.sqrt(dim));
      else if (step.kind === 'mean') {
        for (let c = 0; c < dim; c++)
          added += (query[at + c] as number) * (step.means[first + c] as number);
      } else {
        for (let c = 0; c < dim; c++)
          query[at + c] = (query[at + c] as number) * (step.factors[first + c] as number);
      }
    }
    return added;
  }

  /** Undoes the transforms of a sum of transformed vectors whose weights add up to `weight`, in place. */
  invert(sum: Float64Array, at: number, head: number, weight: number): void {
    const dim = this.#headDim;
    const first = head * dim;
    for (const step of this.#steps.toReversed()) {
      if (step.kind === 'hadamard') hadamard(sum, at, dim, 1 / Math.sqrt(dim));
      else if (step.kind === 'mean') {
        for (let c = 0; c < dim; c++)
          sum[at + c] = (sum[at + c] as number) + (step.means[first + c] as number) * weight;
      } else {
        for (let c = 0; c < dim; c++)
          sum[at + c] = (sum[at + c] as number) * (step.factors[first + c] as number);
      }
    }
  }
}

/** Orthonormal Hadamard transform of `dim` values (a power of two) in place: the butterfly of strides 1, 2, 4, ..., then one multiply. */
export function hadamard(
  values: Float32Array | Float64Array,
  at: number,
  dim: number,
  factor: number,
): void {
  for (let stride = 1; stride < dim; stride *= 2) {
    for (let block = at; block < at + dim; block += 2 * stride) {
      for (let i = block; i < block + stride; i++) {
        const a = values[i] as number;
        const b = values[i + stride] as number;
        values[i] = a + b;
        values[i + stride] = a - b;
      }
    }
  }
  for (let i = at; i < at + dim; i++) values[i] = (values[i] as number) * factor;
}
