/**
 * The table of numbers behind a struct GeneralTensor.
 */
import { GENERAL_TRANSFORM } from './structs.js';

/** Numbers of a table: transforms first, the rest behind them. */
export class TableWriter {
  readonly #transforms: DataView<ArrayBuffer>;
  readonly #rest: number[] = [];

  constructor(transforms: number) {
    this.#transforms = new DataView(new ArrayBuffer(transforms * GENERAL_TRANSFORM.bytes));
  }

  /** First word of what it adds. */
  put(numbers: Float32Array | Uint32Array): number {
    const first = this.#transforms.byteLength / 4 + this.#rest.length;
    for (const word of new Uint32Array(numbers.buffer, numbers.byteOffset, numbers.length))
      this.#rest.push(word);
    return first;
  }

  transform(number: number): DataView {
    const { bytes } = GENERAL_TRANSFORM;
    return new DataView(this.#transforms.buffer, number * bytes, bytes);
  }

  words(): Uint32Array<ArrayBuffer> {
    const front = new Uint32Array(this.#transforms.buffer);
    const words = new Uint32Array(Math.max(1, front.length + this.#rest.length));
    words.set(front);
    words.set(this.#rest, front.length);
    return words;
  }
}
