/**
 * Past injection on tiny decoders of every form: with f16 it is the uncut model, with a packed cache the cut one.
 */
import {
  createPlan,
  defineScheme,
  type Geometry,
  referenceBackend,
  type Scheme,
} from '@lowbit-kv/core';
import { maxAbsDifference, nmse } from '@lowbit-kv/core/testing';
import { kivi } from '@lowbit-kv/scheme-kivi';
import { afterAll, describe, expect, it } from 'vitest';
import { openCutDecoder } from '../src/decoder/cut-decoder.js';
import { openTokenRun } from '../src/generate/token-run.js';
import { openInjectedRun } from '../src/inject/injected-run.js';
import { injectionNote } from '../src/inject/injected-sequence.js';
import { modelFromBytes } from '../src/model/model-files.js';
import { PIECES, TOKENS } from './support/cut-and-whole.js';
import { f16 } from './support/every-preset.js';
import { type FloatType, modelBytes } from './support/graph-writer.js';
import { extendBy, openTiny, startRun } from './support/injected.js';
import { runWhole } from './support/run-whole.js';
import {
  type AttentionForm,
  type TinyDecoder,
  type TinyOptions,
  tinyDecoder,
} from './support/tiny-decoders.js';
import { decomposed } from './support/tiny-decomposed.js';
import { groupQuery } from './support/tiny-group-query.js';
import { multiHead } from './support/tiny-multi-head.js';
import { standardAttention } from './support/tiny-standard.js';

const everyHead = { sizes: { kvHeads: 4 } };
const FORMS: Readonly<Record<string, readonly [AttentionForm, TinyOptions?]>> = {
  'group query': [groupQuery()],
  'group query, packed, with a window': [groupQuery({ packed: true, window: 5 })],
  'group query, rotary node': [groupQuery({ rotary: 'node' })],
  'multi head': [multiHead({ mask: 'causal', rotary: 'halves' }), everyHead],
  'multi head, causal itself': [multiHead({ padding: true }), everyHead],
  'standard operator': [standardAttention({ rotary: 'halves' }), { opset: 23 }],
  'standard operator, boolean mask': [
    standardAttention({ mask: { sight: 'causal', kind: 'boolean' } }),
    { opset: 23 },
  ],
  decomposed: [
    decomposed({ heads: 'rotary', mask: 'added-padding', pastLength: 'attention_mask' }),
  ],
  'decomposed, tokens first': [
    decomposed({ cache: 'tokens-first', mask: 'where-hidden', pastLength: 'attention_mask' }),
  ],
  'decomposed, channels first': [
    decomposed({ cache: 'channels-first', pastLength: 'attention_mask' }),
    everyHead,
  ],
};

/** Largest difference of logits up to 4: f32 models see the past rounded to f16, f16 models have nothing else. */
const F16_LOGITS = { float32: 1e-3, float16: 1e-6 } as const;
/**
 * NMSE of logits against attention over the cache itself, which rounds a step's own tokens to f16; where that puts a key of the
 * second layer on the other side of a rounding, a code differs.
 */
const CUT_LOGITS = 1e-6;

describe('with f16 it is the uncut model', () => {
  const cases = Object.entries(FORMS).flatMap(([name, [form, options]]) =>
    (['float32', 'float16'] as const).map((type) => [name, type, form, options] as const),
  );
  it.each(cases)('%s, %s', async (_, elementType: FloatType, form, options) => {
    const tiny = tinyDecoder(form, { ...options, elementType });
    const expected = await runWhole(tiny, TOKENS, PIECES);
    const decoder = await openTiny(tiny);
    const run = await startRun(decoder, f16, TOKENS.length);
    const logits = await extendBy(run, decoder.vocabularySize, TOKENS, PIECES);
    expect(run.length).toBe(TOKENS.length);
    expect(maxAbsDifference(expected, new Float32Array(expected.length))).toBeGreaterThan(1);
    expect(maxAbsDifference(logits, expected)).toBeLessThan(F16_LOGITS[elementType]);
    await run.dispose();
    await decoder.dispose();
  });
});

/** Long enough to pack keys twice; a prompt that does, then single tokens. */
const LONG = Array.from({ length: 80 }, (_, i) => (i * i * 3 + 5 * i) % 50);
const LONG_PIECES = [40, ...Array<number>(40).fill(1)];
const wide = (form: AttentionForm, options: TinyOptions = {}) =>
  tinyDecoder(form, { ...options, sizes: { headDim: 32, ...options.sizes } });

/** Logits with attention over the cache itself. */
async function cutLogits(tiny: TinyDecoder, scheme: Scheme, pieces = LONG_PIECES) {
  const decoder = await openCutDecoder(modelFromBytes({ model: modelBytes(tiny.model) }));
  const plan = createPlan(scheme, decoder.geometry);
  const run = await openTokenRun(decoder, plan, { backend: referenceBackend(), tokens: 80 });
  const logits = await extendBy(run, decoder.vocabularySize, LONG, pieces);
  await run.dispose();
  await decoder.dispose();
  return logits;
}

async function injectedLogits(tiny: TinyDecoder, scheme: Scheme, pieces = LONG_PIECES) {
  const decoder = await openTiny(tiny);
  const run = await startRun(decoder, scheme, 80);
  const logits = await extendBy(run, decoder.vocabularySize, LONG, pieces);
  await run.dispose();
  await decoder.dispose();
  return logits;
}

const decoder = openTiny(wide(groupQuery()));
afterAll(async () => (await decoder).dispose());

describe('with a packed cache', () => {
  const kivi4 = kivi({ bits: 4, residualLength: 32 });

  it.each([
    ['group query', wide(groupQuery())],
    ['multi head', wide(multiHead({ mask: 'causal', rotary: 'halves' }), everyHead)],
    ['decomposed', wide(decomposed({ heads: 'rotary', cache: 'heads-first' }))],
  ])('packing after attention is the cut decoder: %s', async (_, tiny) => {
    const injected = await injectedLogits(tiny, kivi4);
    expect(nmse(injected, await cutLogits(tiny, kivi4))).toBeLessThan(CUT_LOGITS);
    // Nothing is packed before the second step: from then on the cache shows.
    const exact = await injectedLogits(tiny, f16);
    const prompt = 40 * tiny.sizes.vocabulary;
    expect(nmse(injected.subarray(0, prompt), exact.subarray(0, prompt))).toBeLessThan(1e-12);
    expect(nmse(injected.subarray(prompt), exact.subarray(prompt))).toBeGreaterThan(1e-4);
  });

  it('packing before attention comes a step late, and the note says so', async () => {
    const scheme = defineScheme({
      ...(f16 as object),
      id: 'early',
      packing: 'before-attention',
      key: { bits: 16 },
      value: {
        bits: 2,
        groups: { along: 'channels', size: 32 },
        quantizer: { mode: 'asymmetric', codes: 'uniform' },
        parameters: { scale: 'f16', zero: 'f16' },
        window: { recent: 0, flush: 1 },
      },
    } as Scheme);
    const tiny = wide(groupQuery());
    const single = Array<number>(80).fill(1);
    const [injected, cut, exact] = [
      await injectedLogits(tiny, scheme, single),
      await cutLogits(tiny, scheme, single),
      await injectedLogits(tiny, f16, single),
    ];
    const rows = (logits: Float32Array, first: number, end: number) =>
      logits.subarray(first * tiny.sizes.vocabulary, end * tiny.sizes.vocabulary);
    expect(nmse(rows(injected, 0, 1), rows(exact, 0, 1))).toBe(0);
    expect(nmse(rows(cut, 0, 1), rows(exact, 0, 1))).toBeGreaterThan(1e-3);
    expect(nmse(rows(injected, 1, 80), rows(exact, 1, 80))).toBeGreaterThan(1e-3);
    const { geometry } = await decoder;
    expect(injectionNote(createPlan(scheme, geometry))).toMatch(/before attention/);
    expect(injectionNote(createPlan(kivi4, geometry))).not.toMatch(/before attention/);
  });
});

it('a step that fails leaves the sequence as it was', async () => {
  // Tables of the rotary embedding end at position 16: the model fails beyond them.
  const tiny = tinyDecoder(groupQuery({ rotary: 'node' }), { sizes: { positions: 16 } });
  const decoder = await openTiny(tiny);
  const run = await startRun(decoder, f16, 32);
  await run.extend(TOKENS.slice(0, 14));
  const before = await run.stats();
  await expect(run.extend(TOKENS.slice(14, 18))).rejects.toThrow(/BACKEND_FAILED/);
  await expect(run.extend([50])).rejects.toThrow(/no such token.*50/);
  await expect(run.extend(Array(100).fill(1))).rejects.toThrow(/OUT_OF_PAGES/);
  expect(run.length).toBe(14);
  expect(await run.stats()).toEqual(before);
  const logits = await extendBy(run, 50, TOKENS.slice(14, 16), [1, 1]);
  const expected = (await runWhole(tiny, TOKENS.slice(0, 16))).subarray(14 * 50);
  expect(maxAbsDifference(logits, expected)).toBeLessThan(F16_LOGITS.float32);
  await run.dispose();
  await decoder.dispose();
});

it('takes a prompt longer than a run, and gives the last logits alone at their row', async () => {
  const tiny = tinyDecoder(groupQuery(), { sizes: { positions: 320 } });
  const prompt = Array.from({ length: 300 }, (_, i) => (i * 11 + 2) % 50);
  const decoder = await openTiny(tiny);
  const run = await startRun(decoder, f16, prompt.length);
  const calls: [number, Float32Array][] = [];
  await run.extend(prompt, {
    rows: 'last',
    onLogits: (row, rows) => calls.push([row, rows.slice()]),
  });
  expect(calls.map(([row, { length }]) => [row, length])).toEqual([[299, 50]]);
  expect(run.length).toBe(300);
  const expected = (await runWhole(tiny, prompt)).subarray(-50);
  expect(maxAbsDifference(calls[0]?.[1] ?? [], expected)).toBeLessThan(1e-4);
  await run.dispose();
  await decoder.dispose();
});

describe('plans it refuses', () => {
  const refusal = async (scheme: Scheme, change: Partial<Geometry>) => {
    const opened = await decoder;
    const plan = createPlan(scheme, { ...opened.geometry, ...change });
    return openInjectedRun(opened, plan, { backend: referenceBackend(), tokens: 32 });
  };
  const preRope = lowbitPreRope();

  it.each([
    ['keys before the rotary embedding', preRope, { rotary: { pairs: 'halves' } }],
    ['another number of layers', f16, { layers: 3 }],
    ['another head dim', f16, { keyHeadDim: 64 }],
    ['a sliding window that drops tokens', f16, { slidingWindow: { size: 8, sinks: 0 } }],
  ] as const)('%s', async (_, scheme, change) => {
    await expect(refusal(scheme, change)).rejects.toThrow(/PLAN_REFUSED/);
  });

  function lowbitPreRope(): Scheme {
    const tensor = {
      bits: 4,
      groups: { along: 'channels', size: 32 },
      quantizer: { mode: 'asymmetric', codes: 'uniform' },
      parameters: { scale: 'f16', zero: 'f16' },
      window: { recent: 0, flush: 1 },
    };
    return defineScheme({
      ...(f16 as object),
      id: 'early-keys',
      key: { ...tensor, stage: 'pre-rope' },
    } as Scheme);
  }
});
