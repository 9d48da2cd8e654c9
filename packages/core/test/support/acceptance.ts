/**
 * Rows of the acceptance table in docs/compatibility.md: how much of the authors' results a mode reproduces.
 */

export interface Share {
  readonly equal: number;
  readonly of: number;
}

export interface AcceptanceRow {
  readonly scheme: string;
  /** A mode of docs/compatibility.md. */
  readonly mode: string;
  readonly compared: string;
  /** Null where there is no such thing. */
  readonly codes: Share | null;
  readonly parameters: Share | null;
  readonly decoded: Share | null;
}

export class Tally {
  #equal = 0;
  #of = 0;

  add(different: number, of: number): void {
    this.#equal += of - different;
    this.#of += of;
  }

  addShare({ equal, of }: Share): void {
    this.add(of - equal, of);
  }

  get share(): Share {
    return { equal: this.#equal, of: this.#of };
  }
}

export function sumOf(shares: readonly Share[]): Share {
  const tally = new Tally();
  for (const share of shares) tally.addShare(share);
  return tally.share;
}
