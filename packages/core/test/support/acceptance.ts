/**
 * Rows of the acceptance table in docs/compatibility.md: how much of the authors' results a mode reproduces.
 */

export interface Share {
  readonly equal: number;
  readonly of: number;
}

export interface AcceptanceRow {
  readonly scheme: string;
  /** `compat`, `simulation` or `normative`, and what of it. */
  readonly mode: string;
  readonly data: string;
  readonly codes: Share | null;
  readonly parameters: Share | null;
  readonly decoded: Share | null;
  /** What the rest is. */
  readonly rest: string;
}

export class Tally {
  #equal = 0;
  #of = 0;

  add(different: number, of: number): void {
    this.#equal += of - different;
    this.#of += of;
  }

  get share(): Share {
    return { equal: this.#equal, of: this.#of };
  }
}
