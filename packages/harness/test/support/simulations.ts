/** Simulations that round: what they give is known without them. */
import {
  decodeF16,
  type LayerSimulation,
  type SchemeSimulation,
  type SimulationShape,
} from '@lowbit-kv/core';

/** Rounds to multiples of `step`, but for the newest token; counts its forward calls. */
export class Rounding implements LayerSimulation {
  readonly calls: number[] = [];
  readonly #shape: SimulationShape;
  readonly #step: number;
  #key = new Float32Array(0);
  #value = new Float32Array(0);

  constructor(shape: SimulationShape, step: number) {
    this.#shape = shape;
    this.#step = step;
  }

  append(key: Uint16Array, value: Uint16Array): void {
    this.calls.push(key.length / (this.#shape.kvHeads * this.#shape.keyHeadDim));
    this.#key = Float32Array.from([...this.#key, ...decodeF16(key)]);
    this.#value = Float32Array.from([...this.#value, ...decodeF16(value)]);
  }

  keys(): Float32Array {
    return this.#rounded(this.#key, this.#shape.keyHeadDim);
  }

  values(): Float32Array {
    return this.#rounded(this.#value, this.#shape.valueHeadDim);
  }

  counts() {
    const all = this.calls.reduce((sum, tokens) => sum + tokens, 0);
    const one = { sinks: 0, quantized: all - 1, recent: 1 };
    return { key: one, value: one };
  }

  #rounded(values: Float32Array, headDim: number): Float32Array {
    const newest = values.length - this.#shape.kvHeads * headDim;
    return values.map((x, i) => (i >= newest ? x : Math.round(x / this.#step) * this.#step));
  }
}

/** Layers that are made are put into `made`. */
export function rounding(
  id: string,
  step: number,
  more: Partial<SchemeSimulation> = {},
  made: Rounding[] = [],
): SchemeSimulation {
  return {
    id,
    title: `Multiples of ${step}`,
    references: ['a paper'],
    stage: 'post-rope',
    createLayer: (shape) => {
      const layer = new Rounding(shape, step);
      made.push(layer);
      return layer;
    },
    ...more,
  };
}
