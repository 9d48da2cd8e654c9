/**
 * What a block of the packing kernels takes: kernels/pack-tile.cuh in numbers. A test compiles that header and compares.
 */
import { PAGE_TOKENS } from '../attend/structs.js';
import type { PageShape } from './page-layout.js';

/** Channels of a tile, and of a chunk of 16 bytes. */
const TILE_CHANNELS = 128;
const CHUNK_CHANNELS = 8;
const PATCH_ROWS = 8;
const STEP_BYTES = 16;
const ALIGNMENT = 16;

export interface PackTile {
  /** Of a head. */
  readonly tiles: number;
  readonly threads: number;
  /** Dynamic. */
  readonly sharedBytes: number;
}

export function packTile({
  headDim,
  along,
  groupSize,
  hasZero,
}: Omit<PageShape, 'tensor' | 'bits'>): PackTile {
  const channels = Math.min(headDim, TILE_CHANNELS);
  const columns = channels / CHUNK_CHANNELS;
  const patches = PAGE_TOKENS / PATCH_ROWS;
  const alongTokens = along === 'tokens';
  const entries = alongTokens
    ? (PAGE_TOKENS / groupSize) * channels
    : (channels / groupSize) * PAGE_TOKENS;
  const rowChunks = columns <= 8 ? 8 : 16;
  const partWords = alongTokens ? patches * channels : PAGE_TOKENS * (columns + 2);
  const parameterBytes = 2 * entries * (hasZero ? 2 : 1);
  const bytes =
    PAGE_TOKENS * rowChunks * 2 * CHUNK_CHANNELS +
    entries * STEP_BYTES +
    4 * partWords +
    parameterBytes +
    4;
  return {
    tiles: headDim / channels,
    threads: columns * patches,
    sharedBytes: Math.ceil(bytes / ALIGNMENT) * ALIGNMENT,
  };
}
