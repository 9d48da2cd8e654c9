/**
 * Tables of packing kernels: packs and the rows that they name, kernels/pack-commands.cuh.
 */
import { type PackWork, type Span, WINDOW_PAGE_TOKENS } from '@lowbit-kv/core';
import type { TensorMemory } from '../memory/tensor-memory.js';
import { noRoom } from './step-session.js';

export const PACK_WORDS = 8;
export const SPAN_WORDS = 6;
const WINDOW_ROWS = 0;
const INPUT_ROWS = 1;

/**
 * Pages and rows by where they are from what the job names. `capacity`: packs of the launch; those that there are not are of no
 * tokens. `pageBytes`: from one page that packs name to the next. Throws STEP_STATE for more packs than that.
 */
export function packWords(
  memory: TensorMemory,
  packs: readonly PackWork[],
  capacity = packs.length,
  pageBytes = memory.sizeOf('packed'),
): Uint32Array {
  if (packs.length > capacity) throw noRoom(`${packs.length} packs`, `at most ${capacity}`);
  const { heads, headDim } = memory.plan;
  const spanCount = packs.reduce((sum, { sources }) => sum + sources.length, 0);
  const words = new Uint32Array(capacity * PACK_WORDS + spanCount * SPAN_WORDS);
  const setLong = (at: number, value: number) => {
    words[at] = value;
    words[at + 1] = Math.floor(value / 2 ** 32);
  };
  const setSpan = (at: number, row: number, { source, page, slot }: Span) => {
    const isInput = source === 'input';
    const width = heads * headDim;
    words[at] = row;
    words[at + 1] = isInput ? width : headDim;
    setLong(
      at + 2,
      isInput ? 2 * slot * width : page * memory.sizeOf('window') + 2 * slot * headDim,
    );
    words[at + 4] = isInput ? headDim : WINDOW_PAGE_TOKENS * headDim;
    words[at + 5] = isInput ? INPUT_ROWS : WINDOW_ROWS;
  };
  let span = capacity * PACK_WORDS;
  for (const [i, { page, slot, count, sources, statistics }] of packs.entries()) {
    const at = i * PACK_WORDS;
    setLong(at, page * pageBytes);
    words.set([slot, count, span, sources.length], at + 2);
    setLong(at + 6, Math.max(0, statistics) * memory.sizeOf('statistics'));
    let row = 0;
    for (const source of sources) {
      setSpan(span, row, source);
      row += source.count;
      span += SPAN_WORDS;
    }
  }
  return words;
}
