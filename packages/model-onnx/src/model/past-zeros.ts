/**
 * A past of zeros, for segments that read its length from its shape.
 */
import type { ModelConfig } from './config.js';
import { type Feed, type ModelInput, pastDims } from './input-contract.js';

export class PastZeros {
  readonly #config: ModelConfig;
  #zeros = new Float32Array();

  constructor(config: ModelConfig) {
    this.#config = config;
  }

  /** In the layout of the input. Grown when the past is longer than before. */
  feed(input: ModelInput, past: number): Feed {
    const dims = pastDims(input, past, this.#config);
    const count = dims.reduce((product, dim) => product * dim, 1);
    if (this.#zeros.length < count) this.#zeros = new Float32Array(2 * count);
    if (input.type === 'float32')
      return { type: 'float32', data: this.#zeros.subarray(0, count), dims };
    return { type: 'float16', data: new Uint16Array(this.#zeros.buffer, 0, count), dims };
  }
}
