/**
 * The rotary embedding in float64, docs/law.md 9.
 */
import type { RotaryEmbedding } from '../geometry.js';

/** Positions whose angles are computed together. */
const CHUNK = 64;
/** Chunks kept before all are dropped: 64 KiB each at 64 pairs. */
const KEPT_CHUNKS = 256;

/** Rotates keys to their positions, and keeps the angles of the positions it met. */
export class RotaryRotation {
  readonly #embedding: RotaryEmbedding;
  /** By `floor(position / CHUNK)`: cosine and sine of each position and pair. */
  readonly #angles = new Map<number, Float64Array>();

  constructor(embedding: RotaryEmbedding) {
    this.#embedding = embedding;
  }

  /** Rotates a key at `position` in place; its channels are `vector[at ...]`. */
  rotate(vector: Float64Array, at: number, position: number): void {
    const { pairs, frequencies } = this.#embedding;
    const count = frequencies.length;
    const angles = this.#chunk(Math.floor(position / CHUNK));
    let angle = (position % CHUNK) * count * 2;
    const [step, apart] = pairs === 'halves' ? [1, count] : [2, 1];
    for (let i = 0, first = at; i < count; i++, first += step) {
      const a = vector[first] as number;
      const b = vector[first + apart] as number;
      const cosine = angles[angle++] as number;
      const sine = angles[angle++] as number;
      vector[first] = a * cosine - b * sine;
      vector[first + apart] = a * sine + b * cosine;
    }
  }

  #chunk(number: number): Float64Array {
    const kept = this.#angles.get(number);
    if (kept !== undefined) return kept;
    const { frequencies } = this.#embedding;
    const angles = new Float64Array(CHUNK * frequencies.length * 2);
    let to = 0;
    for (let position = number * CHUNK; position < (number + 1) * CHUNK; position++) {
      for (const frequency of frequencies) {
        angles[to++] = Math.cos(position * frequency);
        angles[to++] = Math.sin(position * frequency);
      }
    }
    if (this.#angles.size === KEPT_CHUNKS) this.#angles.clear();
    this.#angles.set(number, angles);
    return angles;
  }
}
