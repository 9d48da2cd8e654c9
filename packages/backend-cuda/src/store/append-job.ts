/**
 * Structs of kernels/append.cuh and what it includes, as bytes. A test compiles those headers and compares.
 */

/** PackJob of kernels/pack-commands.cuh. */
export const PACK_JOB = {
  bytes: 48,
  fields: { table: 0, headBytes: 8, pages: 16, windowRows: 24, inputRows: 32, statistics: 40 },
} as const;

/** WriteJob of kernels/move.cuh. */
export const WRITE_JOB = {
  bytes: 40,
  fields: {
    table: 0,
    input: 8,
    windows: 16,
    entries: 24,
    heads: 28,
    headDim: 32,
    windowTokens: 36,
  },
} as const;

/** CheckJob of kernels/move.cuh. */
export const CHECK_JOB = { bytes: 24, fields: { values: 0, flag: 8, elements: 16 } } as const;

/** What happens to one tensor. */
export const APPEND_JOB = {
  bytes: 128,
  fields: {
    pack: 0,
    write: 48,
    check: 88,
    packBlocks: 112,
    headTiles: 116,
    writeBlocks: 120,
    checkBlocks: 124,
  },
} as const;
