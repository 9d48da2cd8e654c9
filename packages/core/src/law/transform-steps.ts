/**
 * One transform of a tensor with its numbers at hand, docs/law.md 7. Packing works in f32 (the arrays round), attention in
 * float64.
 */
import { decodeF16 } from '../float16.js';
import type { TensorPlan } from '../plan/plan.js';
import type { Hadamard, Transform } from '../scheme.js';
import { hadamard, rotationSigns } from './rotation.js';
import {
  calibratedNumbers,
  type MeasuredTransform,
  type TransformNumbers,
} from './transform-numbers.js';

/** Each method works in place on the `headDim` channels of one head from element `at` on. */
export interface TransformStep {
  /** What packing does to a token. */
  apply(values: Float32Array, at: number, head: number): void;
  /** Turns a query into what meets transformed keys; returns what is added to each of its dot products. */
  applyToQuery(query: Float64Array, at: number, head: number): number;
  /** Undoes the transform of a sum of transformed vectors whose weights add up to `weight`. */
  invert(sum: Float64Array, at: number, head: number, weight: number): void;
}

/** A measured transform with its plane of a statistics page: f16 bits `[heads, headDim]`. */
export function measuredStep(
  { kind }: MeasuredTransform,
  plane: Uint16Array,
  headDim: number,
): TransformStep {
  const values = decodeF16(plane);
  if (kind === 'channelMean') return new MeanStep(values, headDim);
  return new ScaleStep(
    values,
    values.map((reciprocal) => 1 / reciprocal),
    headDim,
  );
}

/** A transform that takes nothing from the sequence: its numbers are in the scheme or in the calibration of the plan. */
export function fixedStep(
  transform: Exclude<Transform, MeasuredTransform>,
  plan: TensorPlan,
): TransformStep {
  const { headDim } = plan;
  if (transform.kind === 'hadamard') return new RotationStep(transform, headDim);
  const { packing, attention } = calibratedNumbers(transform, plan);
  switch (transform.kind) {
    case 'tensorScale':
    case 'channelScale':
      return new ScaleStep(packing, attention, headDim);
    case 'channelMean':
      return new MeanStep(packing, headDim);
    case 'channelOrder':
      return new OrderStep(packing, headDim);
  }
}

class ScaleStep implements TransformStep {
  readonly #reciprocals: TransformNumbers;
  readonly #factors: TransformNumbers;
  readonly #dim: number;

  /** Both `[heads, headDim]`: what packing and what attention multiply with. */
  constructor(reciprocals: TransformNumbers, factors: TransformNumbers, headDim: number) {
    this.#reciprocals = reciprocals;
    this.#factors = factors;
    this.#dim = headDim;
  }

  apply(values: Float32Array, at: number, head: number): void {
    multiply(values, at, this.#reciprocals, head * this.#dim, this.#dim);
  }

  applyToQuery(query: Float64Array, at: number, head: number): number {
    multiply(query, at, this.#factors, head * this.#dim, this.#dim);
    return 0;
  }

  invert(sum: Float64Array, at: number, head: number): void {
    multiply(sum, at, this.#factors, head * this.#dim, this.#dim);
  }
}

class MeanStep implements TransformStep {
  readonly #means: TransformNumbers;
  readonly #dim: number;

  constructor(means: TransformNumbers, headDim: number) {
    this.#means = means;
    this.#dim = headDim;
  }

  apply(values: Float32Array, at: number, head: number): void {
    const first = head * this.#dim;
    for (let c = 0; c < this.#dim; c++)
      values[at + c] = (values[at + c] as number) - (this.#means[first + c] as number);
  }

  applyToQuery(query: Float64Array, at: number, head: number): number {
    const first = head * this.#dim;
    let added = 0;
    for (let c = 0; c < this.#dim; c++)
      added += (query[at + c] as number) * (this.#means[first + c] as number);
    return added;
  }

  invert(sum: Float64Array, at: number, head: number, weight: number): void {
    const first = head * this.#dim;
    for (let c = 0; c < this.#dim; c++)
      sum[at + c] = (sum[at + c] as number) + (this.#means[first + c] as number) * weight;
  }
}

class OrderStep implements TransformStep {
  readonly #order: TransformNumbers;
  readonly #dim: number;

  constructor(order: TransformNumbers, headDim: number) {
    this.#order = order;
    this.#dim = headDim;
  }

  apply(values: Float32Array | Float64Array, at: number, head: number): void {
    const before = values.slice(at, at + this.#dim);
    for (let c = 0; c < this.#dim; c++)
      values[at + c] = before[this.#order[head * this.#dim + c] as number] as number;
  }

  applyToQuery(query: Float64Array, at: number, head: number): number {
    this.apply(query, at, head);
    return 0;
  }

  invert(sum: Float64Array, at: number, head: number): void {
    const ordered = sum.slice(at, at + this.#dim);
    for (let c = 0; c < this.#dim; c++)
      sum[at + (this.#order[head * this.#dim + c] as number)] = ordered[c] as number;
  }
}

class RotationStep implements TransformStep {
  /** Null: no signs. */
  readonly #signs: Int8Array | null;
  readonly #dim: number;

  constructor({ seed }: Hadamard, headDim: number) {
    this.#signs = seed === undefined ? null : rotationSigns(seed, headDim);
    this.#dim = headDim;
  }

  apply(values: Float32Array, at: number): void {
    this.#sign(values, at);
    hadamard(values, at, this.#dim, Math.fround(1 / Math.sqrt(this.#dim)));
  }

  applyToQuery(query: Float64Array, at: number): number {
    this.#sign(query, at);
    hadamard(query, at, this.#dim, 1 / Math.sqrt(this.#dim));
    return 0;
  }

  invert(sum: Float64Array, at: number): void {
    hadamard(sum, at, this.#dim, 1 / Math.sqrt(this.#dim));
    this.#sign(sum, at);
  }

  #sign(values: Float32Array | Float64Array, at: number): void {
    if (this.#signs !== null) multiply(values, at, this.#signs, 0, this.#dim);
  }
}

function multiply(
  values: Float32Array | Float64Array,
  at: number,
  factors: TransformNumbers | Int8Array,
  first: number,
  count: number,
): void {
  for (let i = 0; i < count; i++)
    values[at + i] = (values[at + i] as number) * (factors[first + i] as number);
}
