/** Counts the tokens that the model has run, for the rate and the time left. */
import type { EvalProgress } from './evaluate-options.js';

export type ProgressPlace = Pick<EvalProgress, 'phase' | 'id' | 'part' | 'parts'>;

export class ProgressCounter {
  readonly #now: () => number;
  readonly #onProgress: ((progress: EvalProgress) => void) | undefined;
  readonly #started: number;
  /** Tokens still to be run, by id of the row. */
  readonly #left: Map<string, number>;
  #ran = 0;
  #resumed = 0;

  constructor(
    expected: Iterable<readonly [id: string, tokens: number]>,
    now: () => number,
    onProgress: ((progress: EvalProgress) => void) | undefined,
  ) {
    this.#left = new Map(expected);
    this.#now = now;
    this.#onProgress = onProgress;
    this.#started = now();
  }

  ran(tokens: number, place: ProgressPlace): void {
    this.#ran += tokens;
    this.#report(tokens, place);
  }

  /** Taken from the store: done, but says nothing about the rate. */
  resumed(tokens: number, place: ProgressPlace): void {
    this.#resumed += tokens;
    this.#report(tokens, place);
  }

  /** A row that will not run any further. */
  dropped(id: string): void {
    this.#left.set(id, 0);
  }

  #report(tokens: number, place: ProgressPlace): void {
    this.#left.set(place.id, (this.#left.get(place.id) ?? 0) - tokens);
    const left = [...this.#left.values()].reduce((a, b) => a + b, 0);
    const seconds = (this.#now() - this.#started) / 1000;
    const rate = this.#ran > 0 && seconds > 0 ? this.#ran / seconds : 0;
    const tokensDone = this.#ran + this.#resumed;
    this.#onProgress?.({
      ...place,
      tokensDone,
      tokensTotal: tokensDone + left,
      tokensPerSecond: rate,
      secondsLeft: rate > 0 ? left / rate : null,
    });
  }
}
