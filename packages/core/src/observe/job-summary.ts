/**
 * What an event says of tensors and of the work of a job: types, shapes and counts.
 */
import type { Span, TensorView, TensorWork } from '../backend.js';
import { decodeF16 } from '../float16.js';
import { elementBytes } from '../strided.js';
import { elementCount, isHostTensor, type Tensor, type TensorType, toF32 } from '../tensor.js';

export interface TensorSummary {
  readonly type: TensorType;
  readonly shape: readonly number[];
  readonly bytes: number;
  /** Id of the backend whose memory it is; null for a host array. */
  readonly device: string | null;
  /** Of a host array that is not empty, where values are asked for. */
  readonly values?: ValueSummary;
}

/** Of the finite elements; null where there is none. */
export interface ValueSummary {
  readonly minimum: number | null;
  readonly maximum: number | null;
  readonly rootMeanSquare: number | null;
  /** NaN and infinities. */
  readonly nonFinite: number;
}

/** What happens to one tensor of one layer. */
export interface WorkSummary {
  readonly copiedPages: number;
  readonly statisticsPages: number;
  /** Tokens that go to f16 windows. */
  readonly writtenTokens: number;
  readonly packedTokens: number;
}

/** Tokens by where they lie, of all sequences together. */
export type SourceCounts = Readonly<Record<Span['source'], number>>;

export function summarizeTensor(tensor: Tensor, withValues: boolean): TensorSummary {
  const { type, shape } = tensor;
  const bytes = elementCount(shape) * elementBytes(type);
  const summary = { type, shape: [...shape], bytes };
  if (!isHostTensor(tensor)) return { ...summary, device: tensor.device };
  if (!withValues || bytes === 0) return { ...summary, device: null };
  return { ...summary, device: null, values: summarizeValues(toF32(tensor, decodeF16)) };
}

function summarizeValues(values: Float32Array): ValueSummary {
  let [minimum, maximum] = [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY];
  let [squares, finite] = [0, 0];
  for (const value of values) {
    if (!Number.isFinite(value)) continue;
    if (value < minimum) minimum = value;
    if (value > maximum) maximum = value;
    squares += value * value;
    finite++;
  }
  const nonFinite = values.length - finite;
  if (finite === 0) return { minimum: null, maximum: null, rootMeanSquare: null, nonFinite };
  return { minimum, maximum, rootMeanSquare: Math.sqrt(squares / finite), nonFinite };
}

export function summarizeWork({ copies, statistics, writes, packs }: TensorWork): WorkSummary {
  return {
    copiedPages: copies.length,
    statisticsPages: statistics.length,
    writtenTokens: countOf(writes),
    packedTokens: countOf(packs),
  };
}

export function countSources(views: readonly TensorView[]): SourceCounts {
  const counts = { packed: 0, window: 0, input: 0 };
  for (const { spans } of views) for (const { source, count } of spans) counts[source] += count;
  return counts;
}

function countOf(parts: readonly { readonly count: number }[]): number {
  return parts.reduce((sum, { count }) => sum + count, 0);
}
