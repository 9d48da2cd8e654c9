/**
 * Stress lenses change keys and values and nothing that the model computes.
 */
import { type Geometry, RotaryRotation, referenceBackend, resolveGeometry } from '@lowbit-kv/core';
import { nmse } from '@lowbit-kv/core/testing';
import { F16 } from '@lowbit-kv/harness';
import { kivi4 } from '@lowbit-kv/scheme-kivi';
import { afterAll, describe, expect, it } from 'vitest';
import type { Attend, Decoder, LayerTensors } from '../src/decoder/decoder.js';
import { AttentionSessions } from '../src/replay/attention-graph.js';
import { PlanReplay } from '../src/replay/plan-replay.js';
import { parseStress, type StressLens, stressed } from '../src/stress/lenses.js';
import { causalAttend } from './support/causal-attention.js';
import { everyPreset } from './support/every-preset.js';
import { planFor } from './support/plans.js';
import { toyDecoder, toyTokens } from './support/toy-decoder.js';

/** f32 products and sums with other factors. */
const SAME_LOGITS = 1e-9;
/** f16 of values 30 away from zero has 5 bits less for what matters. */
const SAME_F16_LOGITS = 1e-4;

const TOKENS = 200;
const geometry: Geometry = {
  layers: 2,
  queryHeads: 4,
  kvHeads: 2,
  keyHeadDim: 64,
  valueHeadDim: 64,
  rotary: { pairs: 'halves', base: 10_000 },
};
const LENSES: readonly StressLens[] = [
  { kind: 'key-scale', size: 16 },
  { kind: 'key-mean', size: 30 },
  { kind: 'value-mean', size: 10 },
];

const sessions = await AttentionSessions.open({ threads: 1 });
afterAll(() => sessions.release());

async function logitsOf(decoder: Decoder, attend: Attend): Promise<Float32Array> {
  const all = new Float32Array(TOKENS * decoder.vocabularySize);
  await decoder.forward(toyTokens(TOKENS), {
    position: 0,
    attend,
    onLogits: (first, rows) => all.set(rows, first * decoder.vocabularySize),
  });
  return all;
}

async function replayed(decoder: Decoder, scheme: typeof F16): Promise<Float32Array> {
  const plan = await planFor(decoder, scheme, []);
  const run = await PlanReplay.open(decoder, plan, sessions, {
    backend: referenceBackend(),
    tokens: TOKENS,
  });
  const all = new Float32Array(TOKENS * decoder.vocabularySize);
  await run.run(toyTokens(TOKENS), (first, rows) => all.set(rows, first * decoder.vocabularySize));
  await run.dispose();
  return all;
}

describe.each(LENSES.map((lens) => [`${lens.kind}:${lens.size}`, lens] as const))(
  '%s',
  (_, lens) => {
    it('changes no logits', async () => {
      const plain = toyDecoder({ geometry });
      const hard = stressed(plain, [lens]);
      const expected = await logitsOf(plain, causalAttend(plain));
      expect(nmse(await logitsOf(hard, causalAttend(plain)), expected)).toBeLessThan(SAME_LOGITS);
      expect(nmse(await replayed(hard, F16), expected)).toBeLessThan(SAME_F16_LOGITS);
    });

    it('changes what is stored by its size', async () => {
      const plain = toyDecoder({ geometry });
      const attend = causalAttend(plain);
      const seen: LayerTensors[] = [];
      for (const decoder of [plain, stressed(plain, [lens])])
        await decoder.forward(toyTokens(TOKENS), {
          position: 0,
          attend: (layer, tensors) => {
            if (layer === 0) seen.push(tensors);
            return attend(layer, tensors);
          },
        });
      const [mild, hard] = seen as [LayerTensors, LayerTensors];
      const ratios = mild.key.map((x, i) => (hard.key[i] as number) / x);
      if (lens.kind === 'key-scale') {
        // Rounded by f32 only: 8 channels of 64 are 16 times as large, the others as they were.
        const scaled = ratios.filter((ratio) => Math.abs(ratio - 16) < 1e-3).length;
        expect(scaled / ratios.length).toBe(8 / 64);
        expect(ratios.every((r) => Math.abs(r - 16) < 1e-3 || Math.abs(r - 1) < 1e-3)).toBe(true);
      } else {
        const tensor = lens.kind === 'key-mean' ? 'key' : 'value';
        const shift = mild[tensor].map((x, i) => (hard[tensor][i] as number) - x);
        const first = shift.subarray(0, 128);
        expect(Math.max(...first.map(Math.abs))).toBeGreaterThan(0.9 * lens.size);
        expect(Math.max(...first.map(Math.abs))).toBeLessThanOrEqual(lens.size);
        for (const [i, x] of shift.entries()) expect(x).toBeCloseTo(first[i % 128] as number, 4);
      }
    });
  },
);

describe('keys before the rotary embedding', () => {
  it('are scaled as those after it', async () => {
    const plain = toyDecoder({ geometry });
    const [layer] = resolveGeometry(geometry);
    const rotation = new RotaryRotation(
      layer?.rotary as NonNullable<typeof layer>['rotary'] & object,
    );
    await stressed(plain, [LENSES[0] as StressLens]).forward(toyTokens(20), {
      position: 0,
      attend: async (_, { key, keyPreRope, query }) => {
        const rows = Float64Array.from(keyPreRope as Float32Array);
        for (let at = 0; at < rows.length; at += 64)
          rotation.rotate(rows, at, Math.floor(at / 128));
        expect(nmse(Float32Array.from(rows), key)).toBeLessThan(1e-12);
        return new Float32Array(query.length);
      },
    });
  });
});

describe('what a lens is for', () => {
  it('tells schemes apart: per-channel groups survive a scaled channel, per-token groups do not', async () => {
    const plain = toyDecoder({ geometry });
    const hard = stressed(plain, [{ kind: 'key-scale', size: 16 }]);
    const expected = await logitsOf(plain, causalAttend(plain));
    const noise = async (scheme: typeof F16) => ({
      mild: nmse(await replayed(plain, scheme), expected),
      hard: nmse(await replayed(hard, scheme), expected),
    });
    const channels = await noise(kivi4);
    const perToken = everyPreset.find(({ id }) => id === 'int4-token-head-asymmetric');
    const tokens = await noise(perToken as typeof F16);
    expect(channels.hard).toBeLessThan(1.5 * channels.mild);
    expect(tokens.hard).toBeGreaterThan(4 * tokens.mild);
  });
});

describe('refusals', () => {
  it.each([
    'key-scale',
    'key-scale:',
    'key-scale:0',
    'key-scale:-1',
    'key-scale:x',
    'nothing:3',
    'toString:5',
    'key-mean:3:4',
    'key-mean:Infinity',
  ])('%s', (text) => {
    expect(() => parseStress(text)).toThrow(/OPTION_INVALID.*key-scale:SIZE/);
  });

  it('parses what it names', () => {
    expect(parseStress('key-mean:30')).toEqual({ kind: 'key-mean', size: 30 });
    expect(parseStress('value-mean:0.5')).toEqual({ kind: 'value-mean', size: 0.5 });
  });

  it('key-mean under a soft cap, which would see it', () => {
    const capped = toyDecoder({ geometry: { ...geometry, softCap: 20 } });
    expect(() => stressed(capped, [{ kind: 'key-mean', size: 30 }])).toThrow(
      /MODEL_UNSUPPORTED.*layer 0/,
    );
    expect(() => stressed(capped, [{ kind: 'value-mean', size: 30 }])).not.toThrow();
  });
});
