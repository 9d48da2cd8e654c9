/** A replay tells whether the noise of a layer's output comes from its keys or its values. */
import { type Geometry, referenceBackend, type Scheme } from '@lowbit-kv/core';
import { addSums, type ErrorSum } from '@lowbit-kv/harness';
import { kivi2 } from '@lowbit-kv/scheme-kivi';
import { afterAll, describe, expect, it } from 'vitest';
import { AttentionSessions } from '../src/replay/attention-graph.js';
import { PlanReplay } from '../src/replay/plan-replay.js';
import { planFor } from './support/plans.js';
import { toyDecoder, toyTokens } from './support/toy-decoder.js';

const TOKENS = 430;
const GEOMETRY: Geometry = {
  layers: 2,
  queryHeads: 4,
  kvHeads: 2,
  keyHeadDim: 64,
  valueHeadDim: 64,
  rotary: { pairs: 'halves', base: 10_000 },
};
/** Of tensors that are only rounded to f16. */
const ROUNDING = 1e-6;
/** Outputs of all positions against late ones that see what is packed at the end of the window. */
const WITHIN = 8;

const sessions = await AttentionSessions.open({ threads: 1 });
afterAll(() => sessions.release());

const nmse = ({ error, energy }: ErrorSum) => error / energy;

async function causesUnder(scheme: Scheme) {
  const decoder = toyDecoder({ geometry: GEOMETRY, outlier: 4 });
  const plan = await planFor(decoder, scheme, toyTokens(200, 3));
  const run = await PlanReplay.open(decoder, plan, sessions, {
    backend: referenceBackend(),
    tokens: TOKENS,
  });
  try {
    const { layers } = await run.run(toyTokens(TOKENS), () => undefined);
    return layers.map(({ causes, heads }) => {
      if (causes === undefined) throw new Error('a replay notes causes');
      const { keysOnly, valuesOnly } = causes;
      return { keys: nmse(keysOnly), values: nmse(valuesOnly), output: nmse(addSums(heads)) };
    });
  } finally {
    await run.dispose();
  }
}

describe('with two bits', () => {
  const f16 = { bits: 16 } as const;

  it('in keys alone, the keys are the cause', async () => {
    for (const { keys, values, output } of await causesUnder({ ...kivi2, value: f16 })) {
      expect(values).toBeLessThan(ROUNDING);
      expect(keys).toBeGreaterThan(output / WITHIN);
      expect(keys).toBeLessThan(output * WITHIN);
    }
  });

  it('in values alone, the values are the cause', async () => {
    for (const { keys, values, output } of await causesUnder({ ...kivi2, key: f16 })) {
      expect(keys).toBeLessThan(ROUNDING);
      expect(values).toBeGreaterThan(output / WITHIN);
      expect(values).toBeLessThan(output * WITHIN);
    }
  });

  it('in both, both are', async () => {
    const [both, keysOnly, valuesOnly] = await Promise.all(
      [kivi2, { ...kivi2, value: f16 }, { ...kivi2, key: f16 }].map(causesUnder),
    );
    // The first layer has the same keys and values whatever comes after it.
    expect(both?.[0]?.keys).toBeCloseTo(keysOnly?.[0]?.keys as number, 5);
    expect(both?.[0]?.values).toBeCloseTo(valuesOnly?.[0]?.values as number, 5);
  });
});
