/**
 * A tiny decoder cut at its attention against the same decoder uncut.
 */
import { LowbitKvError } from '@lowbit-kv/core';
import { expect } from 'vitest';
import { findSites } from '../../src/attention/find-sites.js';
import { GraphView } from '../../src/attention/graph-view.js';
import type { AttentionSite } from '../../src/attention/site.js';
import { type CutSettings, openCutDecoder } from '../../src/decoder/cut-decoder.js';
import type { Decoder } from '../../src/decoder/decoder.js';
import { modelFromBytes } from '../../src/model/model-files.js';
import { FloatCache } from './float-cache.js';
import { modelBytes } from './graph-writer.js';
import { runWhole } from './run-whole.js';
import type { TinyDecoder } from './tiny-decoders.js';

/** Largest difference of two logits. In f16 every operator rounds, attention of the cut decoder does not. */
export const TOLERANCE = { float32: 1e-4, float16: 2e-2 } as const;

export const TOKENS: readonly number[] = Array.from({ length: 24 }, (_, i) => (i * i * 7 + 3) % 50);
/** A prompt, then single tokens. */
export const PIECES: readonly number[] = [10, ...Array(14).fill(1)];

/** What the graph says alone: no configuration. */
export function sitesOf({ model }: TinyDecoder): AttentionSite[] {
  return findSites(new GraphView(model), {});
}

/** What the error says when the attention of a decoder is refused. */
export function refusalOf(decoder: TinyDecoder): string {
  try {
    sitesOf(decoder);
  } catch (error) {
    if (LowbitKvError.is(error, 'MODEL_UNSUPPORTED')) return String(error);
    throw error;
  }
  throw new Error('the decoder was not refused');
}

export function openTiny(
  { model }: TinyDecoder,
  config?: unknown,
  settings?: CutSettings,
): Promise<Decoder> {
  return openCutDecoder(modelFromBytes({ model: modelBytes(model), config }), settings);
}

/**
 * In one forward, and as a prompt and single tokens. `whole`: the same decoder of operators that the CPU has, where it does
 * not have those of `decoder`.
 */
export async function expectCutEqualsWhole(
  decoder: TinyDecoder,
  whole: TinyDecoder = decoder,
): Promise<void> {
  const expected = await runWhole(whole, TOKENS);
  await expectCut(await openTiny(decoder), expected, decoder.elementType);
}

/** Of a decoder that is then disposed of. */
export async function expectCut(
  cut: Decoder,
  expected: Float32Array,
  elementType: TinyDecoder['elementType'],
): Promise<void> {
  // A test that zeros pass would be none.
  expect(largest(expected)).toBeGreaterThan(1);
  try {
    for (const pieces of [[TOKENS.length], PIECES])
      expect(farthest(await runCut(cut, TOKENS, pieces), expected)).toBeLessThan(
        TOLERANCE[elementType],
      );
  } finally {
    await cut.dispose();
  }
}

/** Largest difference; infinite where lengths differ. */
export function farthest(a: Float32Array, b: Float32Array): number {
  return a.length === b.length
    ? largest(a.map((x, i) => x - (b[i] ?? Number.NaN)))
    : Number.POSITIVE_INFINITY;
}

/** Logits `[tokens, vocabulary]` with attention in float64. */
export async function runCut(
  decoder: Decoder,
  tokens: readonly number[],
  pieces: readonly number[],
): Promise<Float32Array> {
  const cache = new FloatCache(decoder);
  const all = new Float32Array(tokens.length * decoder.vocabularySize);
  let position = 0;
  for (const count of pieces) {
    const first = position;
    await decoder.forward(tokens.slice(first, first + count), {
      position: first,
      attend: cache.attend,
      onLogits: (row, logits) => all.set(logits, (first + row) * decoder.vocabularySize),
    });
    position += count;
  }
  return all;
}

function largest(values: Float32Array): number {
  return values.reduce((most, value) => Math.max(most, Math.abs(value)), 0);
}
