/**
 * How shaders are told where rows lie.
 */
import type { Span } from '@lowbit-kv/core';
import type { TensorMemory } from './tensor-memory.js';

const SOURCE_WINDOW = 1;
const SOURCE_INPUT = 2;
const NO_STATISTICS = 0xffffffff;

/** Source, first half of the page or of the input, and slot of a span; `inputHalf` is the first half of the tensor. */
export function spanPlace(
  memory: TensorMemory,
  inputHalf: number,
  { source, page, slot }: Span,
): readonly [number, number, number] {
  return source === 'window'
    ? [SOURCE_WINDOW, memory.halfOf('window', page), slot]
    : [SOURCE_INPUT, inputHalf, slot];
}

/** First half of the statistics of a sequence. */
export function statisticsHalf(memory: TensorMemory, page: number): number {
  return page < 0 ? NO_STATISTICS : memory.halfOf('statistics', page);
}
