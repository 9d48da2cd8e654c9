/**
 * Figures of every prediction of one window: first the logits of the uncut model are kept, then f16 is compared with them
 * and its distribution takes their place, then every scheme is compared with that. One array of the size of the logits
 * serves all windows.
 */
import { isWorse } from '../metrics.js';
import {
  type BaselineSums,
  baselineSums,
  divergence,
  largestDifference,
  negativeLogOf,
  type RowSums,
  rowSums,
} from './logit-row.js';
import { type RowReceiver, type RowsWanted, receiveRows } from './receive-rows.js';

/** Index t is the prediction of token t + 1. NaN where a row of logits is not finite. */
export interface PredictionFigures {
  /** -ln of the probability of the right token. */
  readonly negativeLog: Float64Array;
  /** KL(f16 || scheme) in nats. */
  readonly divergence: Float64Array;
  /** 1 where the most probable token is that of f16, else 0. */
  readonly agrees: Float64Array;
  /** Probability of the right token minus that under f16. */
  readonly probabilityChange: Float64Array;
}

export interface MeteredWindow {
  readonly predictions: PredictionFigures;
  /** Rows whose logits are all equal. */
  readonly constantRows: number;
  /** Rows with the logits of f16, bit for bit as far as every sum can tell. */
  readonly sameRows: number;
}

/** Of the logits of f16 against those of the uncut model; NaN when one is not finite. */
export interface LogitDifference {
  readonly value: number;
  readonly position: number;
}

export interface Metering<Result> {
  readonly sink: RowReceiver['sink'];
  /** Throws MEASUREMENT_INVALID when a row is missing. */
  result(): Result;
}

interface BaselineRow {
  readonly sums: BaselineSums;
  readonly targetLogit: number;
  readonly negativeLog: number;
}

export class WindowMeter {
  readonly #wanted: RowsWanted;
  /** `[windowTokens - 1, vocabularySize]`: logits of the uncut model, then weights of f16. */
  readonly #rows: Float32Array;
  readonly #baseline: BaselineRow[] = [];

  constructor(wanted: RowsWanted) {
    this.#wanted = wanted;
    this.#rows = new Float32Array((wanted.windowTokens - 1) * wanted.vocabularySize);
  }

  uncut(): Metering<void> {
    const { sink, finish } = receiveRows(this.#wanted, (row, logits) => {
      this.#row(row).set(logits);
    });
    return { sink, result: finish };
  }

  /** After `uncut` of the same window. */
  f16(tokens: readonly number[]): Metering<MeteredWindow & { difference: LogitDifference }> {
    let difference: LogitDifference = { value: -1, position: 1 };
    const { sink, result } = this.#meter(tokens, (row, logits) => {
      const kept = this.#row(row);
      const value = largestDifference(logits, kept);
      if (isWorse(value, difference.value)) difference = { value, position: row + 1 };
      const sums = baselineSums(logits, kept);
      const targetLogit = logits[tokens[row + 1] as number] as number;
      this.#baseline[row] = {
        sums,
        targetLogit,
        negativeLog: negativeLogOf(sums, targetLogit),
      };
      return sums;
    });
    return { sink, result: () => ({ ...result(), difference }) };
  }

  /** After `f16` of the same window. */
  scheme(tokens: readonly number[]): Metering<MeteredWindow> {
    return this.#meter(tokens, (row, logits) => rowSums(logits, this.#row(row)));
  }

  #row(row: number): Float32Array {
    const { vocabularySize } = this.#wanted;
    return this.#rows.subarray(row * vocabularySize, (row + 1) * vocabularySize);
  }

  #meter(
    tokens: readonly number[],
    sumsOf: (row: number, logits: Float32Array) => RowSums,
  ): Metering<MeteredWindow> {
    const count = this.#wanted.windowTokens - 1;
    const predictions: PredictionFigures = {
      negativeLog: new Float64Array(count),
      divergence: new Float64Array(count),
      agrees: new Float64Array(count),
      probabilityChange: new Float64Array(count),
    };
    let constantRows = 0;
    let sameRows = 0;
    const { sink, finish } = receiveRows(this.#wanted, (row, logits) => {
      const sums = sumsOf(row, logits);
      const base = this.#baseline[row] as BaselineRow;
      const targetLogit = logits[tokens[row + 1] as number] as number;
      const negativeLog = negativeLogOf(sums, targetLogit);
      predictions.negativeLog[row] = negativeLog;
      predictions.divergence[row] = divergence(base.sums, sums);
      predictions.agrees[row] = Number.isNaN(sums.total)
        ? Number.NaN
        : Number(sums.top === base.sums.top);
      predictions.probabilityChange[row] = Math.exp(-negativeLog) - Math.exp(-base.negativeLog);
      // e^d of a logit below the largest is less than 1.
      if (sums.total === logits.length) constantRows++;
      if (sameSums(sums, base.sums) && targetLogit === base.targetLogit) sameRows++;
    });
    return {
      sink,
      result() {
        finish();
        return { predictions, constantRows, sameRows };
      },
    };
  }
}

function sameSums(a: RowSums, b: RowSums): boolean {
  return (
    a.largest === b.largest && a.top === b.top && a.total === b.total && a.weighted === b.weighted
  );
}
