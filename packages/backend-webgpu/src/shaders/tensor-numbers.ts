/**
 * Numbers that shaders of a tensor read from the front of its memory: what transforms take from the calibration, level tables,
 * edges of outlier bands, frequencies of the rotary embedding.
 */
import {
  calibratedNumbers,
  isCalibrated,
  type LevelTable,
  type RotaryEmbedding,
  type TensorPlan,
  type Transform,
  transformsOf,
} from '@lowbit-kv/core';
import { groupSize } from './group-size.js';

/** A transform whose numbers come from the calibration: first words of what packing and attention use. */
export interface CalibratedPlace {
  /** Reciprocals of factors, means, or an order. */
  readonly packing: number;
  /** Factors; for other transforms as `packing`. */
  readonly attention: number;
}

export interface TensorNumbers {
  readonly words: Uint32Array;
  /** By transform; null where nothing is calibrated. */
  readonly transforms: readonly (CalibratedPlace | null)[];
  /** First words of levels, of middles between them, and of reciprocals of counts up to the group size. */
  readonly levels: number;
  readonly middles: number;
  readonly shares: number;
  /** First words of the four edges of outlier bands, rising, and of frequencies: high and low word of each. */
  readonly edges: number;
  readonly frequencies: number;
}

/** Pages begin on a multiple of this many bytes. */
const ALIGNMENT = 256;

/** `rotary`: of keys that are held before it. */
export function tensorNumbers(
  plan: TensorPlan,
  rotary: RotaryEmbedding | null = null,
): TensorNumbers {
  const words: number[] = [];
  const put = (numbers: Float32Array | Uint32Array): number => {
    const first = words.length;
    words.push(...new Uint32Array(numbers.buffer, numbers.byteOffset, numbers.length));
    return first;
  };
  const transforms = transformsOf(plan).map((transform) => placeOf(transform, plan, put));
  const table = tableOf(plan);
  const levels = table === null ? new Float32Array(0) : levelsOf(table);
  const counts = table?.scaledBy === 'rootMeanSquare' ? groupSize(plan) + 1 : 0;
  const places = {
    levels: put(levels),
    middles: put(middlesOf(levels)),
    shares: put(Float32Array.from({ length: counts }, (_, count) => (count === 0 ? 0 : 1 / count))),
    edges: put(edgesOf(plan)),
    frequencies: put(frequencyWords(rotary?.frequencies ?? [])),
  };
  const size = Math.ceil((words.length * 4) / ALIGNMENT) * (ALIGNMENT / 4);
  const aligned = new Uint32Array(size);
  aligned.set(words);
  return { words: aligned, transforms, ...places };
}

export function tableOf({ scheme }: TensorPlan): LevelTable | null {
  if (scheme.bits === 16 || typeof scheme.quantizer.codes === 'string') return null;
  return scheme.quantizer.codes;
}

/** f32 levels; a plan holds calibrated tables resolved. */
export function levelsOf(table: LevelTable): Float32Array {
  return Float32Array.from(table.levels as readonly number[]);
}

function middlesOf(levels: Float32Array): Float32Array {
  return levels.subarray(1).map((level, i) => ((levels[i] as number) + level) / 2);
}

function edgesOf({ calibration }: TensorPlan): Float32Array {
  const edges = calibration?.thresholds;
  if (edges === undefined) return new Float32Array(0);
  return Float32Array.of(edges.outerLow, edges.innerLow, edges.innerHigh, edges.outerHigh);
}

/** Turns per position in units of 2^-64, whole turns left out; see rotary.wgsl. */
export function frequencyWords(frequencies: readonly number[]): Uint32Array {
  return Uint32Array.from(
    frequencies.flatMap((frequency) => {
      const turns = frequency / (2 * Math.PI);
      const high = (turns - Math.floor(turns)) * 2 ** 32;
      return [Math.floor(high), (high - Math.floor(high)) * 2 ** 32];
    }),
  );
}

function placeOf(
  transform: Transform,
  plan: TensorPlan,
  put: (numbers: Float32Array | Uint32Array) => number,
): CalibratedPlace | null {
  if (!isCalibrated(transform)) return null;
  const numbers = calibratedNumbers(transform, plan);
  const packing = put(numbers.packing);
  const isSame = numbers.attention === numbers.packing;
  return { packing, attention: isSame ? packing : put(numbers.attention) };
}
