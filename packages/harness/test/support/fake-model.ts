/**
 * A language model made of numbers: logits from a seeded source, noise by plan, and every way to be wrong that a test asks
 * for.
 */
import type { Geometry, Plan } from '@lowbit-kv/core';
import type { EvaluatedModel, LogitsSink, WindowNotes } from '../../src/index.js';

export const FAKE_GEOMETRY: Geometry = {
  layers: 2,
  queryHeads: 4,
  kvHeads: 2,
  keyHeadDim: 32,
  valueHeadDim: 32,
};

/** One row as a model is about to give it. `plan` is null for the uncut model. */
export interface FakeRow {
  readonly plan: Plan | null;
  readonly tokens: readonly number[];
  readonly row: number;
}

export interface FakeModelOptions {
  readonly vocabularySize?: number;
  readonly contextLimit?: number | null;
  readonly notesHeads?: boolean;
  /** Changes the logits of a row in place. */
  readonly change?: (logits: Float32Array, row: FakeRow) => void;
  /** Gives the rows `[tokens, vocabularySize]` of a run to the sink; in parts of 7 rows when left out. */
  readonly deliver?: (rows: Float32Array, sink: LogitsSink, plan: Plan | null) => void;
  /** Changes what a run notes. */
  readonly notes?: (notes: WindowNotes, plan: Plan) => WindowNotes;
  /** When a run starts. */
  readonly onRun?: (plan: Plan | null, tokens: readonly number[]) => void;
  readonly onOpen?: (plan: Plan) => void;
  readonly onDispose?: (plan: Plan) => void;
}

const PART_ROWS = 7;

export function fakeModel(options: FakeModelOptions = {}): EvaluatedModel {
  const { vocabularySize = 50, contextLimit = null, notesHeads } = options;
  const give = (plan: Plan | null, tokens: readonly number[], sink: LogitsSink) => {
    options.onRun?.(plan, tokens);
    const rows = new Float32Array(tokens.length * vocabularySize);
    for (const row of tokens.keys()) {
      const logits = rows.subarray(row * vocabularySize, (row + 1) * vocabularySize);
      logits.set(fakeLogits(plan, tokens, row, vocabularySize));
      options.change?.(logits, { plan, tokens, row });
    }
    if (options.deliver !== undefined) return options.deliver(rows, sink, plan);
    for (let row = 0; row < tokens.length; row += PART_ROWS)
      sink(row, rows.subarray(row * vocabularySize, (row + PART_ROWS) * vocabularySize));
  };
  return {
    name: 'fake',
    fingerprint: 'f'.repeat(64),
    geometry: FAKE_GEOMETRY,
    vocabularySize,
    contextLimit,
    ...(notesHeads !== undefined && { notesHeads }),
    uncut: async (tokens, sink) => give(null, tokens, sink),
    open: async (plan) => {
      options.onOpen?.(plan);
      return {
        run: async (tokens, sink) => {
          give(plan, tokens, sink);
          const notes = fakeNotes(plan, tokens, notesHeads ?? true);
          return options.notes?.(notes, plan) ?? notes;
        },
        dispose: async () => options.onDispose?.(plan),
      };
    },
  };
}

/** Logits of spread 3; noise of a millionth under f16, of a tenth and more under schemes. */
export function fakeLogits(
  plan: Plan | null,
  tokens: readonly number[],
  row: number,
  vocabularySize: number,
): Float32Array {
  const seen = hash(7, ...tokens.slice(0, row + 1));
  const amplitude = plan === null ? 0 : amplitudeOf(plan);
  const noise = hash(...Buffer.from(plan?.fingerprint ?? ''));
  return Float32Array.from({ length: vocabularySize }, (_, i) => {
    const exact = 3 * normal(hash(seen, i));
    return exact + amplitude * normal(hash(seen, i, noise));
  });
}

function amplitudeOf(plan: Plan): number {
  return isF16(plan) ? 1e-6 : 1.6 / 2 ** (plan.scheme.key.bits - 1);
}

function isF16(plan: Plan): boolean {
  return plan.classes.every(({ flush }) => flush === 0);
}

/** Energies of 100 and more, so that every layer and head weighs differently. */
function fakeNotes(plan: Plan, tokens: readonly number[], heads: boolean): WindowNotes {
  const seed = hash(tokens.length, ...tokens);
  const nmse = isF16(plan) ? 1e-8 : 0.04 / 4 ** (plan.scheme.key.bits - 2);
  const sum = (...place: number[]) => {
    const energy = 100 + 50 * uniform(hash(seed, ...place));
    return { error: energy * nmse * (0.5 + uniform(hash(seed, 1, ...place))), energy };
  };
  return {
    storedBits: isF16(plan) ? 16 : plan.scheme.key.bits + 1,
    layers: [0, 1].map((layer) => ({
      key: sum(layer, 100),
      value: sum(layer, 101),
      heads: heads ? [0, 1, 2, 3].map((head) => sum(layer, head)) : [],
      ...(heads && { causes: { keysOnly: sum(layer, 102), valuesOnly: sum(layer, 103) } }),
    })),
  };
}

/** 32 bits of some integers (FNV-1a, then mixed). */
function hash(...values: number[]): number {
  let state = 0x811c9dc5;
  for (const value of values) {
    state = Math.imul(state ^ value, 0x01000193);
    state ^= state >>> 15;
  }
  state = Math.imul(state ^ (state >>> 16), 0x85ebca6b);
  state = Math.imul(state ^ (state >>> 13), 0xc2b2ae35);
  return (state ^ (state >>> 16)) >>> 0;
}

function uniform(bits: number): number {
  return (bits + 0.5) / 2 ** 32;
}

function normal(bits: number): number {
  return Math.sqrt(-2 * Math.log(uniform(bits))) * Math.cos(2 * Math.PI * uniform(hash(bits, 1)));
}

/** Tokens of a text, none like its neighbours. */
export function fakeTokens(count: number, vocabularySize = 50): number[] {
  return Array.from({ length: count }, (_, i) => hash(i, 99) % vocabularySize);
}
