/**
 * Structs of 32-bit words, one after another, in an array that is filled again and again.
 */
export class WordTable {
  readonly structWords: number;
  #words: Uint32Array<ArrayBuffer>;
  #used = 0;

  constructor(structBytes: number) {
    this.structWords = structBytes / 4;
    this.#words = new Uint32Array(64 * this.structWords);
  }

  /** The array of now: `add` replaces it when it is full. */
  get words(): Uint32Array<ArrayBuffer> {
    return this.#words;
  }

  get length(): number {
    return this.#used / this.structWords;
  }

  /** Adds a struct and gives the index of its first word. */
  add(): number {
    const first = this.#used;
    this.#used += this.structWords;
    if (this.#used > this.#words.length) {
      const larger = new Uint32Array(2 * this.#words.length);
      larger.set(this.#words);
      this.#words = larger;
    }
    return first;
  }

  clear(): void {
    this.#used = 0;
  }

  /** Of all structs; valid until the next `add` or `clear`. */
  get bytes(): Uint8Array {
    return new Uint8Array(this.#words.buffer, 0, 4 * this.#used);
  }
}
