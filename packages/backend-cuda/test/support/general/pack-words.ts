/**
 * The table of a launch, as kernels/pack-commands.cuh reads it.
 */
import { type PackWork, type Span, WINDOW_PAGE_TOKENS } from '@lowbit-kv/core';
import type { TensorMemory } from '../../../src/memory/tensor-memory.js';

const PACK_WORDS = 8;

export function packWords(memory: TensorMemory, packs: readonly PackWork[]): Uint32Array {
  const { heads, headDim } = memory.plan;
  const table: number[] = [];
  const spans: number[] = [];
  const first = packs.length * PACK_WORDS;
  for (const { page, slot, count, sources, statistics } of packs) {
    const at = first + spans.length;
    const statisticsAt = Math.max(0, statistics) * memory.sizeOf('statistics');
    table.push(page * memory.sizeOf('packed'), 0, slot, count, at, sources.length, statisticsAt, 0);
    let row = 0;
    for (const span of sources) {
      spans.push(row, ...spanWords(memory, span, heads * headDim, headDim));
      row += span.count;
    }
  }
  return Uint32Array.from([...table, ...spans]);
}

function spanWords(memory: TensorMemory, span: Span, width: number, headDim: number): number[] {
  const { source, page, slot } = span;
  if (source === 'input') return [width, 2 * slot * width, 0, headDim, 1];
  const from = page * memory.sizeOf('window') + 2 * slot * headDim;
  return [headDim, from, 0, WINDOW_PAGE_TOKENS * headDim, 0];
}
