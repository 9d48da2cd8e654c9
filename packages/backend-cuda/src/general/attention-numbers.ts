/**
 * What a launch of general attention is told: the tensors of a layer, how threads share the work, and where a block keeps things
 * in shared memory. The struct of kernels/general-attention.cuh.
 */
import { type LayerPlan, type TensorPlan, transformsOf } from '@lowbit-kv/core';
import { GENERAL_ATTENTION } from './structs.js';

export const ATTEND_THREADS = 256;
const WARPS = ATTEND_THREADS / 32;
const TILE_TOKENS = 32;
const PLACE_BYTES = 16;
const HEADS_AT_ONCE = 4;
/** Of one block. */
const MOST_HEADS = 16;
/** Of a tile: sums are read and written once for each of them. */
const MOST_PARTS = 4;
const MOST_SUM_BYTES = 8 * 1024;
/** Query heads are shared out until a block takes no more: three of a multiprocessor then, or as much beside a large tile. */
const SHARED_TARGET = 64 * 1024;
const BESIDE_TILE = 24 * 1024;

type Field = keyof typeof GENERAL_ATTENTION.fields;
type Words = Omit<Record<Field, number>, 'key' | 'value'>;

/** Writes the struct of a tensor at a byte of a job, as DeviceTensor does. */
export interface WrittenTensor {
  write(view: DataView, at: number): void;
}

export interface AttentionNumbers {
  /** Dynamic shared memory of a block. */
  readonly sharedBytes: number;
  /** Blocks that share the query heads of a kv head: the grid in z. */
  readonly headBlocks: number;
  write(view: DataView, key: WrittenTensor, value: WrittenTensor): void;
}

export function attentionNumbers(plan: LayerPlan): AttentionNumbers {
  const { queryHeads, kvHeads } = plan.geometry;
  const group = queryHeads / kvHeads;
  let headBlocks = Math.ceil(group / MOST_HEADS);
  let words = wordsOf(plan, group, Math.ceil(group / headBlocks));
  const tileBytes = 4 * TILE_TOKENS * 4 * words.tileQuads;
  const target = Math.max(SHARED_TARGET, tileBytes + BESIDE_TILE);
  while (words.sharedBytes > target && headBlocks < group)
    words = wordsOf(plan, group, Math.ceil(group / ++headBlocks));
  return {
    sharedBytes: words.sharedBytes,
    headBlocks: Math.ceil(group / words.blockHeads),
    write(view, key, value) {
      const { fields } = GENERAL_ATTENTION;
      key.write(view, fields.key);
      value.write(view, fields.value);
      for (const [field, word] of Object.entries(words) as [keyof Words, number][])
        view.setUint32(fields[field], word, true);
    },
  };
}

function wordsOf(
  { key, value, geometry }: LayerPlan,
  groupHeads: number,
  blockHeads: number,
): Words {
  const keyQuads = Math.ceil(key.headDim / 4);
  const valueQuads = Math.ceil(value.headDim / 4);
  const tileQuads = Math.max(keyQuads, valueQuads) | 1;
  const headUnits = Math.ceil(blockHeads / HEADS_AT_ONCE);
  const sliceBits = bitsOf(Math.min(WARPS / headUnits, keyQuads));
  const lanes = Math.min(32, 2 ** Math.ceil(Math.log2(valueQuads)));
  const isHeldPlain = geometry.rotary !== null;
  const queriesTurn = transformsOf(key).length > 0 && !isHeldPlain;
  const kinds = transformsOf(value).length > 0 ? 2 : 1;
  const sumBytes = kinds * blockHeads * valueQuads * 16;
  const unitThreads = lanes * headUnits;
  const partBits = bitsOf(
    Math.min(MOST_PARTS, ATTEND_THREADS / unitThreads, MOST_SUM_BYTES / sumBytes),
  );
  const ordersKeys = isHeldPlain && transformsOf(key).some(({ kind }) => kind === 'channelOrder');

  const memory = new SharedMemory();
  const rows = blockHeads * keyQuads * 4;
  const sumRows = kinds * 2 ** partBits * blockHeads;
  const tile = TILE_TOKENS * Math.max(tileQuads * 4, blockHeads);
  const places = {
    queries: memory.take(rows),
    turned: memory.take(queriesTurn ? rows : 0),
    added: memory.take(blockHeads),
    tile: memory.take(tile),
    scratch: memory.take(ordersKeys ? tile : 0),
    dots: memory.take(2 ** sliceBits * blockHeads * TILE_TOKENS),
    logits: memory.take(blockHeads * TILE_TOKENS),
    weights: memory.take(kinds * blockHeads * TILE_TOKENS),
    sums: memory.take(sumRows * valueQuads * 4),
    weightSums: memory.take(sumRows),
    largest: memory.take(blockHeads),
    raised: memory.take(blockHeads),
    decay: memory.take(blockHeads),
    keyLevels: memory.take(levelCount(key)),
    valueLevels: memory.take(levelCount(value)),
    keyPlaces: memory.take((TILE_TOKENS * PLACE_BYTES) / 4),
    valuePlaces: memory.take((TILE_TOKENS * PLACE_BYTES) / 4),
    positions: memory.take(TILE_TOKENS),
    isLast: memory.take(1),
  };
  return {
    groupHeads,
    blockHeads,
    keyQuads,
    valueQuads,
    tileQuads,
    sliceBits,
    sliceQuads: Math.ceil(keyQuads / 2 ** sliceBits),
    partBits,
    kinds,
    queriesTurn: Number(queriesTurn),
    keyPlanes: planeCount(key),
    valuePlanes: planeCount(value),
    ...places,
    sharedBytes: memory.bytes,
  };
}

/** floor(log2 number), of less than 1 too 0. */
function bitsOf(number: number): number {
  return Math.max(0, Math.floor(Math.log2(number)));
}

/** Of a statistics page. */
function planeCount({ statisticsPageBytes, heads, headDim }: TensorPlan): number {
  return statisticsPageBytes / (2 * heads * headDim);
}

/** Of a level table. */
function levelCount({ scheme }: TensorPlan): number {
  if (scheme.bits === 16 || typeof scheme.quantizer.codes === 'string') return 0;
  return scheme.quantizer.codes.levels.length;
}

/** Floats of shared memory, given out in quads. */
class SharedMemory {
  #end = 0;

  take(floats: number): number {
    const first = this.#end;
    this.#end += Math.ceil(floats / 4) * 4;
    return first;
  }

  get bytes(): number {
    return 4 * this.#end;
  }
}
