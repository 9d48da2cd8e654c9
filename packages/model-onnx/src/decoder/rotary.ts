/**
 * Rotary embeddings by the tables of a model, and whether frequencies can say them.
 */
import type { RotaryEmbedding } from '@lowbit-kv/core';

/** What a table may differ from its frequencies by, and more for large angles: tables come from f32 angles. */
const TABLE_TOLERANCE = 1e-4;
const ANGLE_TOLERANCE = 2 ** -22;
/** Of numbers up to 1, with some room. */
const F16_ROUNDING = 2 ** -10;
/** Positions that are compared. */
const SAMPLES = 64;

export class RotaryTable {
  readonly pairs: 'halves' | 'adjacent';
  /** Positions there are. */
  readonly positions: number;
  /** Pairs of channels that turn. */
  readonly width: number;
  readonly #cosine: Float32Array;
  readonly #sine: Float32Array;
  readonly #tolerance: number;

  /** Tables `[positions, width]`, whose numbers were rounded to f16 or f32. */
  constructor(
    pairs: 'halves' | 'adjacent',
    width: number,
    cosine: Float32Array,
    sine: Float32Array,
    rounding: 'float16' | 'float32' = 'float32',
  ) {
    this.pairs = pairs;
    this.width = width;
    this.#tolerance = TABLE_TOLERANCE + (rounding === 'float16' ? F16_ROUNDING : 0);
    this.positions = cosine.length / width;
    this.#cosine = cosine;
    this.#sine = sine;
  }

  /** Turns `[tokens, heads, headDim]` in place, `position` that of the first token; none is beyond `positions`. */
  rotate(values: Float32Array, heads: number, headDim: number, position: number): void {
    const { width, pairs } = this;
    const cosines = this.#cosine;
    const sines = this.#sine;
    const tokens = values.length / (heads * headDim);
    const [step, distance] = pairs === 'halves' ? [1, width] : [2, 1];
    for (let token = 0, at = 0; token < tokens; token++) {
      const row = (position + token) * width;
      for (let head = 0; head < heads; head++, at += headDim) {
        for (let pair = 0; pair < width; pair++) {
          const first = at + pair * step;
          const a = values[first] as number;
          const b = values[first + distance] as number;
          const cosine = cosines[row + pair] as number;
          const sine = sines[row + pair] as number;
          values[first] = a * cosine - b * sine;
          values[first + distance] = a * sine + b * cosine;
        }
      }
    }
  }

  /** Null when the tables are no angles that grow evenly with the position, as with factors of YaRN. */
  embedding(): RotaryEmbedding | null {
    const frequencies = Array.from({ length: this.width }, (_, pair) => this.#frequency(pair));
    const step = Math.max(1, Math.floor(this.positions / SAMPLES));
    for (let position = this.positions - 1; position >= 0; position -= step) {
      for (const [pair, frequency] of frequencies.entries()) {
        const angle = position * frequency;
        const tolerance = this.#tolerance + Math.abs(angle) * ANGLE_TOLERANCE;
        const at = position * this.width + pair;
        const off = Math.max(
          Math.abs((this.#cosine[at] ?? 0) - Math.cos(angle)),
          Math.abs((this.#sine[at] ?? 0) - Math.sin(angle)),
        );
        if (!(off <= tolerance)) return null;
      }
    }
    return { pairs: this.pairs, frequencies };
  }

  /** The angle of row 1, made exact by rows ever further: an error of a row's angle counts less there. */
  #frequency(pair: number): number {
    let frequency = 0;
    for (let position = 1; position < this.positions; position *= 2) {
      const at = position * this.width + pair;
      const angle = Math.atan2(this.#sine[at] ?? 0, this.#cosine[at] ?? 0);
      const turns = Math.round((position * frequency - angle) / (2 * Math.PI));
      frequency = (angle + turns * 2 * Math.PI) / position;
    }
    return frequency;
  }
}
