/**
 * Replay is step-by-step decoding: the same logits for every preset, over windows that fill, pack and slide.
 */
import {
  type Geometry,
  LowbitKvError,
  type Plan,
  referenceBackend,
  type Scheme,
} from '@lowbit-kv/core';
import { nmse } from '@lowbit-kv/core/testing';
import { F16 } from '@lowbit-kv/harness';
import { kivi2 } from '@lowbit-kv/scheme-kivi';
import { kvquant2 } from '@lowbit-kv/scheme-kvquant';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { elementsOf, shareOfToday } from '../../core/test/support/share-of-today.js';
import type { ForwardOptions } from '../src/decoder/decoder.js';
import { AttentionSessions } from '../src/replay/attention-graph.js';
import { PlanReplay } from '../src/replay/plan-replay.js';
import { StepRun } from '../src/replay/step-run.js';
import { everyPreset } from './support/every-preset.js';
import { planFor } from './support/plans.js';
import { toyDecoder, toyTokens } from './support/toy-decoder.js';

/**
 * NMSE of logits: sums of f32 in other orders give 1e-10. Where they make a later layer's key fall on the other side of a
 * rounding, one code differs, which gives 1e-7.
 */
const REPLAY_LOGITS = 1e-6;
/** More than twice the sliding windows below. */
const SLIDING_TOKENS = 330;

/** Until both tensors have packed twice after their statistics and windows. */
function tokensOf(plan: Plan): number {
  const ends = plan.classes.map(
    ({ sinks, recent, flush, statisticsTokens }) =>
      sinks + Math.max(recent + flush, statisticsTokens) + flush,
  );
  return Math.max(...ends, 150) + 10;
}

const sessions = await AttentionSessions.open({ threads: 1 });
afterAll(() => sessions.release());

const geometryOf = (headDim: number, more: Partial<Geometry> = {}): Geometry => ({
  layers: 2,
  queryHeads: 4,
  kvHeads: 2,
  keyHeadDim: headDim,
  valueHeadDim: headDim,
  rotary: { pairs: 'halves', base: 10_000 },
  ...more,
});

async function bothRuns(scheme: Scheme, geometry: Geometry, length?: number) {
  const decoder = toyDecoder({ geometry, outlier: 4 });
  const plan = await planFor(decoder, scheme, toyTokens(200, 3));
  const tokens = length ?? tokensOf(plan);
  const window = toyTokens(tokens);
  const options = { backend: referenceBackend(), tokens };
  const logits = [];
  const notes = [];
  for (const Run of [PlanReplay, StepRun]) {
    const run = await Run.open(decoder, plan, sessions, options);
    const all = new Float32Array(tokens * decoder.vocabularySize);
    notes.push(
      await run.run(window, (first, rows) => all.set(rows, first * decoder.vocabularySize)),
    );
    logits.push(all);
    await run.dispose();
  }
  return { logits: logits as [Float32Array, Float32Array], notes };
}

describe('replay equals step-by-step decoding', () => {
  const presets = elementsOf(everyPreset, shareOfToday('presets that are replayed', 7));
  it.each(presets.map((scheme) => [scheme.id, scheme] as const))('%s', async (_, scheme) => {
    const { logits, notes } = await runsOf(scheme);
    expect(Math.max(...logits[0].map(Math.abs))).toBeGreaterThan(1);
    expect(nmse(logits[1], logits[0])).toBeLessThan(REPLAY_LOGITS);
    expect(notes[0]?.storedBits).toBeCloseTo(notes[1]?.storedBits ?? 0, 6);
    for (const [layer, replayed] of (notes[0]?.layers ?? []).entries()) {
      const stepped = notes[1]?.layers[layer];
      expect(replayed.key.error / replayed.key.energy).toBeGreaterThan(1e-9);
      expect(replayed.key.error / (stepped?.key.error ?? 0)).toBeCloseTo(1, 3);
      expect(replayed.heads).toHaveLength(4);
      for (const [head, { error, energy }] of replayed.heads.entries()) {
        const other = stepped?.heads[head] ?? { error: 0, energy: 0 };
        expect(error / energy).toBeCloseTo(other.error / other.energy, 4);
      }
    }
    expect(notes[0]?.storedBits).toBeLessThan(15);
  });

  let plain: Awaited<ReturnType<typeof bothRuns>>;
  beforeAll(async () => {
    plain = await bothRuns(kivi2, geometryOf(64), SLIDING_TOKENS);
  });
  it.each([
    ['values of another head dim', { valueHeadDim: 32 }],
    ['a soft cap', { softCap: 3 }],
    ['adjacent pairs of part of the channels', { rotary: { pairs: 'adjacent', dimensions: 32 } }],
    ['no rotary embedding', { rotary: null }],
    ['one kv head for all', { kvHeads: 1 }],
    ['a sliding window', { slidingWindow: { size: 150, sinks: 0 } }],
    ['a sliding window with sinks', { slidingWindow: { size: 140, sinks: 3 } }],
    ['a scale of its own', { scale: 0.3 }],
  ] satisfies [string, Partial<Geometry>][])('with %s', async (_, more) => {
    const { logits } = await bothRuns(kivi2, geometryOf(64, more), SLIDING_TOKENS);
    expect(nmse(logits[1], logits[0])).toBeLessThan(REPLAY_LOGITS);
    expect(nmse(logits[0], plain.logits[0])).toBeGreaterThan(1e-4);
  });

  it.each([1, 2, 127, 128, 129, 161, 257])('over %i tokens', async (tokens) => {
    const { logits } = await bothRuns(kivi2, geometryOf(64), tokens);
    expect(nmse(logits[1], logits[0])).toBeLessThan(REPLAY_LOGITS);
  });

  it('notes nothing but rounding for f16', async () => {
    const { logits, notes } = await bothRuns(F16, geometryOf(64), 200);
    expect(nmse(logits[1], logits[0])).toBeLessThan(REPLAY_LOGITS);
    for (const { key, value, heads } of notes[0]?.layers ?? []) {
      for (const { error, energy } of [key, value, ...heads]) {
        expect(error / energy).toBeGreaterThan(1e-9);
        expect(error / energy).toBeLessThan(1e-6);
      }
    }
    expect(notes[0]?.storedBits).toBe(16);
  });
});

const ignoreLogits = () => undefined;

describe('what a replay refuses', () => {
  const decoder = toyDecoder({ geometry: geometryOf(64) });
  const backend = referenceBackend();

  it('a window longer than what was opened', async () => {
    const plan = await planFor(decoder, kivi2, []);
    const run = await PlanReplay.open(decoder, plan, sessions, { backend, tokens: 16 });
    await expect(run.run(toyTokens(17), ignoreLogits)).rejects.toThrow(
      /OPTION_INVALID.*17.*1 to 16/,
    );
    await run.dispose();
  });

  it('keys before the rotary embedding of a model that gives none', async () => {
    const without = toyDecoder({ geometry: geometryOf(64) });
    const rotated = {
      ...without,
      forward: (tokens: readonly number[], options: ForwardOptions) =>
        without.forward(tokens, {
          ...options,
          attend: (layer, tensors) => options.attend(layer, { ...tensors, keyPreRope: null }),
        }),
    };
    const plan = await planFor(decoder, kvquant2, toyTokens(64));
    const run = await PlanReplay.open(rotated, plan, sessions, { backend, tokens: 64 });
    await expect(run.run(toyTokens(64), ignoreLogits)).rejects.toThrow(/PLAN_REFUSED.*layer 0/);
    await run.dispose();
  });

  it('keys that f16 cannot hold, naming the layer of the model', async () => {
    const plan = await planFor(decoder, kivi2, []);
    const large = {
      ...decoder,
      forward: (tokens: readonly number[], options: ForwardOptions) =>
        decoder.forward(tokens, {
          ...options,
          attend: (layer, tensors) =>
            options.attend(layer, {
              ...tensors,
              key: layer === 1 ? tensors.key.map((x) => x * 1e6) : tensors.key,
            }),
        }),
    };
    const run = await PlanReplay.open(large, plan, sessions, { backend, tokens: 64 });
    await expect(run.run(toyTokens(64), ignoreLogits)).rejects.toThrow(/NON_FINITE.*layer 1/);
    await run.dispose();
  });
});

/** The runs of a scheme with a head dim of 64, or of 128 where its groups need that. */
async function runsOf(scheme: Scheme) {
  try {
    return await bothRuns(scheme, geometryOf(64));
  } catch (error) {
    if (!LowbitKvError.is(error, 'SHAPE_UNSUPPORTED')) throw error;
    return bothRuns(scheme, geometryOf(128));
  }
}
