/** Takes the rows of logits that a model gives for one window, each once, whatever parts they come in. */
import { LowbitKvError } from '@lowbit-kv/core';
import type { LogitsSink } from './model.js';

export interface RowsWanted {
  /** Tokens of the window. The row of the last one predicts nothing and may be missing. */
  readonly windowTokens: number;
  readonly vocabularySize: number;
  /** Of the model, for errors. */
  readonly name: string;
}

export interface RowReceiver {
  readonly sink: LogitsSink;
  /** Throws MEASUREMENT_INVALID when a row is missing. */
  finish(): void;
}

/** `onRow` gets row t, which predicts token t + 1, for t from 0 to `windowTokens - 2`. */
export function receiveRows(
  { windowTokens, vocabularySize, name }: RowsWanted,
  onRow: (row: number, logits: Float32Array) => void,
): RowReceiver {
  const seen = new Uint8Array(windowTokens);
  const refuse = (message: string, value: unknown, valid: string): never => {
    throw new LowbitKvError('MEASUREMENT_INVALID', {
      message,
      value,
      valid,
      next: `The implementation of the model ${name} is at fault.`,
    });
  };
  return {
    sink(firstRow, logits) {
      const rows = logits.length / vocabularySize;
      if (
        !Number.isInteger(rows) ||
        !Number.isInteger(firstRow) ||
        firstRow < 0 ||
        firstRow + rows > windowTokens
      )
        refuse(
          'a model gave logits of another shape than its window',
          [firstRow, logits.length],
          `rows of ${vocabularySize} within ${windowTokens} tokens`,
        );
      for (let row = firstRow; row < firstRow + rows; row++) {
        if (seen[row] === 1) refuse('a model gave a row of logits twice', row, 'each row once');
        seen[row] = 1;
        const start = (row - firstRow) * vocabularySize;
        if (row < windowTokens - 1) onRow(row, logits.subarray(start, start + vocabularySize));
      }
    },
    finish() {
      const missing = seen.subarray(0, windowTokens - 1).indexOf(0);
      if (missing >= 0)
        refuse('a model left out a row of logits', missing, `rows 0 to ${windowTokens - 2}`);
    },
  };
}
