/**
 * Past injection as the harness evaluates it: one step per token, with the noise of keys and values and without that of heads.
 */
import { createPlan, referenceBackend } from '@lowbit-kv/core';
import { nmse } from '@lowbit-kv/core/testing';
import { type EvaluatedModel, evaluate, formatEvalReport } from '@lowbit-kv/harness';
import { kivi } from '@lowbit-kv/scheme-kivi';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { openCutDecoder } from '../src/decoder/cut-decoder.js';
import { evaluatedModel } from '../src/evaluated-model.js';
import type { InjectedDecoder } from '../src/inject/injected-decoder.js';
import { injectedModel } from '../src/inject/injected-model.js';
import { modelFromBytes } from '../src/model/model-files.js';
import { AttentionSessions } from '../src/replay/attention-graph.js';
import { modelBytes } from './support/graph-writer.js';
import { extendBy, openTiny, startRun } from './support/injected.js';
import { tinyDecoder } from './support/tiny-decoders.js';
import { groupQuery } from './support/tiny-group-query.js';

const WINDOW = 70;
const TEXT = Array.from({ length: 2 * WINDOW }, (_, i) => (i * i * 3 + 7 * i) % 50);
const WINDOW_TOKENS = TEXT.slice(0, WINDOW);
const tiny = tinyDecoder(groupQuery(), { sizes: { headDim: 32 } });
const kivi4 = kivi({ bits: 4, residualLength: 32 });

let decoder: InjectedDecoder;
let model: EvaluatedModel;
beforeAll(async () => {
  decoder = await openTiny(tiny);
  model = injectedModel({ name: 'tiny', decoder, backend: referenceBackend(), tokens: WINDOW });
});
afterAll(() => decoder.dispose());

async function windowOf(evaluated: EvaluatedModel) {
  const run = await evaluated.open(createPlan(kivi4, evaluated.geometry));
  const logits = new Float32Array(WINDOW * 50);
  const notes = await run.run(WINDOW_TOKENS, (row, rows) => logits.set(rows, row * 50));
  await run.dispose();
  return { logits, notes };
}

it('is decoding a token at a time, and notes what replay of the cut decoder notes', async () => {
  const injected = await windowOf(model);
  const run = await startRun(decoder, kivi4, WINDOW);
  const steps = await extendBy(run, 50, WINDOW_TOKENS, Array(WINDOW).fill(1));
  await run.dispose();
  expect(injected.logits).toEqual(steps);

  const cut = await openCutDecoder(modelFromBytes({ model: modelBytes(tiny.model) }));
  const attention = await AttentionSessions.open({ threads: 1 });
  const replayed = await windowOf(
    evaluatedModel({
      name: 'tiny',
      decoder: cut,
      attention,
      uncut: model.uncut,
      backend: referenceBackend(),
      tokens: WINDOW,
    }),
  );
  expect(nmse(injected.logits, replayed.logits)).toBeLessThan(1e-6);
  expect(injected.notes.storedBits).toBeCloseTo(replayed.notes.storedBits, 6);
  expect(injected.notes.layers).toHaveLength(2);
  for (const [layer, { key, value, heads }] of injected.notes.layers.entries()) {
    const other = replayed.notes.layers[layer];
    expect(heads).toEqual([]);
    for (const [sum, reference] of [
      [key, other?.key],
      [value, other?.value],
    ] as const) {
      expect(sum.error / sum.energy).toBeGreaterThan(1e-5);
      expect(sum.error / (reference?.error ?? 0)).toBeCloseTo(1, 1);
      expect(sum.energy / (reference?.energy ?? 0)).toBeCloseTo(1, 4);
    }
  }
  await attention.release();
  await cut.dispose();
});

it('is reported without figures of heads', async () => {
  const report = await evaluate({
    model,
    text: { name: 'numbers', sha256: '0'.repeat(64), tokens: TEXT },
    schemes: [kivi4],
    windows: 2,
    windowTokens: WINDOW,
  });
  const [f16, row] = report.schemes;
  if (f16?.status !== 'measured' || row?.status !== 'measured') throw new Error('not measured');
  expect(f16.checks.filter(({ result }) => result === 'failed')).toEqual([]);
  expect(row.noise).toMatchObject({ worstLayer: null, worstHead: null });
  expect(row.noise.worstKeys.nmse).toBeGreaterThan(1e-5);
  expect(row.noise.layers.map(({ headNmse }) => headNmse)).toEqual([[], []]);
  expect(row.failingLayers).toEqual([]);
  expect(row.divergence.mean).toBeGreaterThan(0);
  expect(['safe', 'care', 'unsafe']).toContain(row.verdict.level);
  expect(formatEvalReport(report)).toContain(row.id);
});
