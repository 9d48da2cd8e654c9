/**
 * Structs of kernels/job.cuh, as bytes. A test compiles that header and compares.
 */

/** Offsets of fields, in bytes. */
interface Struct {
  readonly bytes: number;
  readonly fields: Readonly<Record<string, number>>;
}

/** A run of tokens that both tensors hold in the same slots of packed pages. */
export const PAGE_ENTRY = {
  bytes: 16,
  fields: { key: 0, value: 4, position: 8, slots: 12 },
} as const satisfies Struct;

/** Where a token lies that is on no such page. */
export const REST_ENTRY = {
  bytes: 16,
  fields: { key: 0, value: 4, position: 8, unused: 12 },
} as const satisfies Struct;

/** What one CTA of every kv head meets. */
export const ITEM = {
  bytes: 48,
  fields: {
    sequence: 0,
    firstPage: 4,
    pages: 8,
    firstRest: 12,
    rests: 16,
    packedRests: 20,
    split: 24,
    splits: 28,
    keyStatistics: 32,
    valueStatistics: 36,
    position: 40,
    queries: 44,
  },
} as const satisfies Struct;

/** What a launch reads and writes. */
export const DECODE_JOB = {
  bytes: 160,
  fields: {
    keys: 0,
    values: 8,
    keyWindows: 16,
    valueWindows: 24,
    keyInput: 32,
    valueInput: 40,
    keyStatistics: 48,
    valueStatistics: 56,
    items: 64,
    itemTable: 72,
    pageTable: 80,
    restTable: 88,
    queries: 96,
    partials: 104,
    arrivals: 112,
    output: 120,
    logSumExp: 128,
    kvHeads: 136,
    windowTokens: 140,
    scale: 144,
    softCap: 148,
    queryType: 152,
    queryHeads: 156,
  },
} as const satisfies Struct;

/** Numbers of a tensor with outlier bands that all pages share; those of keys and of values follow a DECODE_JOB. */
export const BAND_TENSOR = {
  bytes: 20,
  fields: { headBytes: 0, outerLow: 4, outerHigh: 8, innerLow: 12, innerHigh: 16 },
} as const satisfies Struct;

export const BAND_JOB_BYTES = DECODE_JOB.bytes + 2 * BAND_TENSOR.bytes;

/** Tokens of a packed page. */
export const PAGE_TOKENS = 128;
/** Rows of a source that a RestEntry can name; the source is in the bits above. */
export const REST_ROWS = 2 ** 30;
/** As QueryType of kernels/job.cuh. */
export const QUERY_TYPES = ['f32', 'f16', 'bf16'] as const;
export const REST_SOURCES = { packed: 0, window: 1, input: 2 } as const;
/** Of the barriers of a warp in shared memory, behind the pages of all warps. */
export const BARRIER_BYTES = 16;
