/**
 * What is fuzzed: how mutants of a format are drawn, and how one is read and checked.
 */
import type { ErrorCode } from '@lowbit-kv/core';
import type { Random } from './random.js';

export interface Target {
  /** Name on the command line and of its folder in the corpus. */
  readonly name: string;
  /** Codes that reading may end with; any other error is a find. */
  readonly codes: readonly ErrorCode[];
  /** Longest that a mutant may take; 1 by default. */
  readonly seconds?: number;
  /** Makes the real files that mutants are drawn from. */
  open(): Promise<OpenTarget>;
}

export interface OpenTarget {
  mutant(random: Random): Uint8Array;
  /**
   * Reads a mutant. Throws what the reader throws, and WrongAnswer where it accepts the mutant and an independent look at
   * the bytes says something else.
   */
  check(mutant: Uint8Array): Promise<void>;
  close?(): Promise<void>;
}

/** A mutant was accepted and understood wrongly, or changed something that it may not. */
export class WrongAnswer extends Error {
  override readonly name = 'WrongAnswer';
}

/** Throws WrongAnswer unless `holds`. */
export function mustHold(holds: boolean, what: string): asserts holds {
  if (!holds) throw new WrongAnswer(what);
}

/** Parsed JSON of a mutant, as a command would parse it; `invalid` where it is no JSON: that is not our reader's. */
export function parsedJson(mutant: Uint8Array): { readonly value: unknown } | null {
  try {
    return { value: JSON.parse(new TextDecoder().decode(mutant)) };
  } catch {
    return null;
  }
}
