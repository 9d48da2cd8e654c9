/** What one scheme gave in one window, and its numbers in a record. */
import { LowbitKvError, resolveGeometry } from '@lowbit-kv/core';
import type { ErrorSum } from '../metrics.js';
import type { EvaluatedModel, WindowNotes } from './model.js';
import type { LogitDifference, MeteredWindow } from './window-meter.js';

export interface WindowFigures extends MeteredWindow {
  readonly notes: WindowNotes;
  /** Wall clock of the model under the scheme; metrics left out. */
  readonly seconds: number;
  /** In the run that gave these figures, so that rates are compared within one run. */
  readonly uncut: UncutFigures;
}

/** The uncut model in one window. */
export interface UncutFigures {
  readonly seconds: number;
  /** How far f16 is from it. */
  readonly difference: LogitDifference;
}

/** Sizes that follow from the options, so that a record needs no header. */
export interface FigureShape {
  readonly predictions: number;
  /** Query heads of every layer whose noise is noted. */
  readonly heads: readonly number[];
}

export function figureShape(
  { geometry, notesHeads = true }: Pick<EvaluatedModel, 'geometry' | 'notesHeads'>,
  windowTokens: number,
): FigureShape {
  return {
    predictions: windowTokens - 1,
    heads: resolveGeometry(geometry).map(({ queryHeads }) => (notesHeads ? queryHeads : 0)),
  };
}

/** Throws MEASUREMENT_INVALID when the notes are not of this model. */
export function checkNotes({ layers }: WindowNotes, { heads }: FigureShape, name: string): void {
  const given = layers.map((layer) => layer.heads.length);
  const causes = layers.filter((layer) => layer.causes !== undefined).length;
  const complete = given.length === heads.length && given.every((count, i) => count === heads[i]);
  if (complete && (causes === 0 || causes === layers.length)) return;
  throw new LowbitKvError('MEASUREMENT_INVALID', {
    message:
      'a model noted the noise of other layers or heads than it has, or causes of some layers',
    value: given,
    valid: [heads],
    next: `The implementation of the model ${name} is at fault.`,
  });
}

/** Seconds, bits, constant and same rows; of the uncut model seconds, difference and its position; whether causes are known. */
const SINGLE_FIGURES = 8;
/** Which of them are seconds. */
export const TIMES = [0, 4] as const;
/** Of a layer, besides those of heads: key, value, keys only, values only. */
const LAYER_SUMS = 4;
const UNKNOWN: ErrorSum = { error: 0, energy: 0 };
const PREDICTION_FIGURES = 4;

export function windowNumberCount({ predictions, heads }: FigureShape): number {
  const sums = heads.reduce((sum, count) => sum + LAYER_SUMS + count, 0);
  return SINGLE_FIGURES + PREDICTION_FIGURES * predictions + 2 * sums;
}

export function windowToNumbers(figures: WindowFigures): Float64Array {
  const { predictions, constantRows, sameRows, notes, seconds, uncut } = figures;
  const { negativeLog, divergence, agrees, probabilityChange } = predictions;
  const sums = notes.layers.flatMap(({ key, value, heads, causes }) => [
    key,
    value,
    causes?.keysOnly ?? UNKNOWN,
    causes?.valuesOnly ?? UNKNOWN,
    ...heads,
  ]);
  return Float64Array.from([
    seconds,
    notes.storedBits,
    constantRows,
    sameRows,
    uncut.seconds,
    uncut.difference.value,
    uncut.difference.position,
    Number(notes.layers.every(({ causes }) => causes !== undefined)),
    ...negativeLog,
    ...divergence,
    ...agrees,
    ...probabilityChange,
    ...sums.flatMap(({ error, energy }) => [error, energy]),
  ]);
}

export function windowFromNumbers(numbers: Float64Array, shape: FigureShape): WindowFigures {
  let place = 0;
  const number = () => numbers[place++] as number;
  const list = () => {
    const first = place;
    place += shape.predictions;
    return numbers.slice(first, place);
  };
  const sum = (): ErrorSum => ({ error: number(), energy: number() });
  const [seconds, storedBits, constantRows, sameRows] = [number(), number(), number(), number()];
  const uncut = { seconds: number(), difference: { value: number(), position: number() } };
  const known = number() === 1;
  const predictions = {
    negativeLog: list(),
    divergence: list(),
    agrees: list(),
    probabilityChange: list(),
  };
  const layers = shape.heads.map((count) => {
    const [key, value, keysOnly, valuesOnly] = [sum(), sum(), sum(), sum()];
    const heads = Array.from({ length: count }, sum);
    return { key, value, heads, ...(known && { causes: { keysOnly, valuesOnly } }) };
  });
  return { predictions, constantRows, sameRows, notes: { layers, storedBits }, seconds, uncut };
}
