/**
 * Random numbers of a seed and an index: mutant number i of a seed is the same whatever was drawn before it.
 */
export class Random {
  #state: number;

  constructor(seed: number, index: number) {
    this.#state = mixed(Math.imul(seed ^ 0x5bf03635, 0x9e3779b1) ^ mixed(index + 1));
  }

  /** 0 to 2^32 - 1. */
  word(): number {
    this.#state = (this.#state + 0x9e3779b9) | 0;
    return mixed(this.#state);
  }

  /** 0 to `limit` - 1; 0 for a limit of 0. */
  below(limit: number): number {
    return Math.floor((this.word() / 2 ** 32) * limit);
  }

  /** Small numbers are likelier. */
  small(limit: number): number {
    return Math.floor((this.word() / 2 ** 32) ** 3 * limit);
  }

  chance(probability: number): boolean {
    return this.word() < probability * 2 ** 32;
  }

  pick<T>(list: readonly T[]): T {
    if (list.length === 0) throw new RangeError('nothing to pick from');
    return list[this.below(list.length)] as T;
  }
}

/** Spreads a change of any bit over all 32. */
function mixed(word: number): number {
  let x = word ^ (word >>> 16);
  x = Math.imul(x, 0x7feb352d);
  x = Math.imul(x ^ (x >>> 15), 0x846ca68b);
  return (x ^ (x >>> 16)) >>> 0;
}
