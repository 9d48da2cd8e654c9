/**
 * Packs in one pass: the dispatches of pack-tile.wgsl.
 */
import type { BlockLayout, PackWork } from '@lowbit-kv/core';
import type { Kernel } from '../device/pipelines.js';
import type { TileShape } from '../shaders/pack-tile.js';
import type { AppendContext } from './append.js';
import { spanPlace, statisticsHalf } from './span-words.js';

const PACK_WORDS = 8;
const NO_ROW = 0xffffffff;
const MOST_PACKS = 1 << 15;

export function packTiles(
  {
    recorder,
    memory,
    inputs,
    inputHalf,
  }: Pick<AppendContext, 'recorder' | 'memory' | 'inputs' | 'inputHalf'>,
  { kernel, shape }: { readonly kernel: Kernel; readonly shape: TileShape },
  packs: readonly PackWork[],
): void {
  const { heads, headDim } = memory.plan.layout as BlockLayout;
  const slots = shape.rows * shape.patchSlots;
  const across = headDim / (shape.columns * shape.patchQuads * 4);
  for (let begin = 0; begin < packs.length; begin += MOST_PACKS) {
    const some = packs.slice(begin, begin + MOST_PACKS);
    const table: number[] = [];
    const spans: number[] = [];
    let tiles = 0;
    for (const { page, slot, count, sources, statistics } of some) {
      const first = some.length * PACK_WORDS + spans.length;
      table.push(memory.wordOf('packed', page), slot, count, first, sources.length);
      const [only] = sources.length === 1 ? sources : [];
      const input = only?.source === 'input' ? inputHalf + only.slot * heads * headDim : NO_ROW;
      table.push(statisticsHalf(memory, statistics), input, 0);
      let rows = 0;
      for (const span of sources) {
        spans.push(rows, ...spanPlace(memory, inputHalf, span));
        rows += span.count;
      }
      tiles = Math.max(tiles, Math.ceil((slot + count) / slots) - Math.floor(slot / slots));
    }
    recorder.reserve(1, table.length + spans.length);
    recorder.dispatch({
      kernel,
      buffers: [inputs, memory.buffer],
      table: recorder.table([...table, ...spans]),
      groups: [tiles * across, heads, some.length],
    });
  }
}
