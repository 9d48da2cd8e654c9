// Scratch of attention, partial results and queries: never more than warmUp makes room for.
import { createPlan, type Span } from '@lowbit-kv/core';
import { asymmetric, inlineScheme } from '@lowbit-kv/core/testing';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import type { GrowingBuffer } from '../src/device/growing-buffer.js';
import type { Dispatch, Recorder } from '../src/device/recorder.js';
import {
  type AttendContext,
  attend,
  partialBytes,
  roundQueries,
  WORKGROUPS,
} from '../src/store/attend.js';
import type { TensorMemory } from '../src/store/tensor-memory.js';

const memory = {
  byteOf: () => 0,
  wordOf: () => 0,
  halfOf: () => 0,
  sizeOf: () => 0,
} as unknown as TensorMemory;

const RUNS = 100;

interface DrawnSequence {
  readonly length: number;
  readonly queries: number;
  /** Tokens that stay f16, of keys and of values. */
  readonly recent: readonly [number, number];
}

interface DrawnJob {
  readonly kvHeads: number;
  readonly group: number;
  readonly headDim: number;
  readonly doubled: boolean;
  readonly pagesApart: boolean;
  readonly sequences: readonly DrawnSequence[];
}

/** What attention asks for at most, in bytes, and what warmUp makes: partial results, prepared queries. */
function bytesOf({ kvHeads, group, headDim, doubled, pagesApart, sequences }: DrawnJob) {
  const queryHeads = kvHeads * group;
  const [plan] = createPlan(
    inlineScheme({ key: asymmetric(4, 'channels', headDim), value: { bits: 16 } }),
    { layers: 1, queryHeads, kvHeads, keyHeadDim: headDim, valueHeadDim: headDim },
  ).layers;
  if (plan === undefined) throw new TypeError('a plan has a layer');
  let asked = 0;
  let askedQueries = 0;
  let largestDispatch = 0;
  const partialWords = 4 + headDim * (doubled ? 2 : 1);
  const kernels = {
    rows: 4,
    queryWords: headDim,
    partialWords,
    pagesApart,
    ...(pagesApart && { fewestWorkgroups: 1024 }),
  } as AttendContext['kernels'];
  const nothing = {} as GPUBuffer;
  const context: AttendContext = {
    plan,
    kernels,
    recorder: {
      reserve: () => undefined,
      table: () => 0,
      dispatch({ groups }: Dispatch) {
        largestDispatch = Math.max(largestDispatch, ...groups);
      },
    } as unknown as Recorder,
    key: memory,
    value: memory,
    inputs: { buffer: nothing, key: 0, value: 0 },
    query: { source: nothing, type: 'f16' },
    prepared: {
      atLeast(bytes: number) {
        askedQueries = Math.max(askedQueries, bytes);
        return nothing;
      },
    } as unknown as GrowingBuffer,
    partials: {
      atLeast(bytes: number) {
        asked = Math.max(asked, bytes);
        return nothing;
      },
    } as unknown as GrowingBuffer,
    output: nothing,
    logSumExp: nothing,
    workgroups: WORKGROUPS,
  };
  let firstQuery = 0;
  attend(
    [context],
    sequences.map(({ length, queries, recent }) => {
      const [key, value] = recent.map((tokens) => ({
        spans: spansOf(length, Math.min(length, tokens)),
        statistics: -1,
      }));
      if (key === undefined || value === undefined) throw new TypeError('two tensors');
      const sequence = { firstQuery, queries, length, key, value };
      firstQuery += queries;
      return sequence;
    }),
  );
  const together = Math.min(firstQuery, roundQueries(queryHeads, partialWords));
  return {
    asked,
    askedQueries,
    largestDispatch,
    made: partialBytes(kernels, firstQuery, queryHeads),
    madeQueries: together * queryHeads * kernels.queryWords * 4,
  };
}

/** Pages of 128, then what stays f16. */
function spansOf(length: number, recent: number): Span[] {
  const spans: Span[] = [];
  const packed = length - recent;
  for (let position = 0; position < packed; position += 128)
    spans.push({
      source: 'packed',
      page: position / 128,
      slot: 0,
      count: Math.min(128, packed - position),
      position,
    });
  if (recent > 0)
    spans.push({ source: 'input', page: -1, slot: 0, count: recent, position: packed });
  return spans;
}

const among = <T>(...values: T[]) => fc.constantFrom(...values);

/** Prompts that take several rounds are seldom drawn among all lengths. */
const sequence: fc.Arbitrary<DrawnSequence> = fc
  .record({
    length: among(1, 127, 128, 129, 300, 2000, 9000, 33_000),
    queries: among(1, 1, 3, 16, 260, 1100, 8300, 33_000),
    recent: fc.tuple(among(0, 1, 130, 8000), among(0, 1, 130, 8000)),
  })
  .map((one) => ({ ...one, queries: Math.min(one.queries, one.length) }));

/** Of a step that decodes. */
const batch: fc.Arbitrary<DrawnSequence[]> = fc
  .record({ count: among(40, 257, 700), step: among(1, 7, 131), recent: among(0, 3, 130) })
  .map(({ count, step, recent }) =>
    Array.from({ length: count }, (_, i) => ({
      length: 1 + ((i * step) % 1500),
      queries: 1,
      recent: [recent, 0] as const,
    })),
  );

const job: fc.Arbitrary<DrawnJob> = fc.record({
  kvHeads: among(1, 2, 8, 32),
  group: among(1, 3, 4, 8),
  headDim: among(8, 64, 128, 256),
  doubled: fc.boolean(),
  pagesApart: fc.boolean(),
  sequences: fc.oneof(fc.array(sequence, { minLength: 1, maxLength: 4 }), batch),
});

/** Its first rounds see little of it. */
const LONG_PROMPT: DrawnJob = {
  kvHeads: 8,
  group: 4,
  headDim: 128,
  doubled: true,
  pagesApart: true,
  sequences: [{ length: 33_000, queries: 33_000, recent: [0, 128] }],
};

it('are never more than warmUp makes', { timeout: 60_000 }, () => {
  fc.assert(
    fc.property(job, (drawn) => {
      const { asked, askedQueries, made, madeQueries, largestDispatch } = bytesOf(drawn);
      expect(asked).toBeLessThanOrEqual(made);
      expect(askedQueries).toBeLessThanOrEqual(madeQueries);
      // Bindings of 128 MiB are what every device has.
      expect(madeQueries).toBeLessThanOrEqual(2 ** 27);
      expect(largestDispatch).toBeLessThanOrEqual(65535);
    }),
    { numRuns: RUNS, examples: [[LONG_PROMPT]] },
  );
});
