/**
 * Sampling: greedy, the kept sets, frequencies, seeds and refusals.
 */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createRandom } from '../src/text/random.js';
import { createSampler, distributionOf, largestLogit } from '../src/text/sample.js';

const logitsOf = (minLength = 1) =>
  fc
    .array(
      fc.oneof(
        { weight: 8, arbitrary: fc.float({ min: -30, max: 30, noNaN: true }) },
        { weight: 1, arbitrary: fc.constant(Number.NEGATIVE_INFINITY) },
        { weight: 1, arbitrary: fc.constant(1) },
      ),
      { minLength, maxLength: 40 },
    )
    .filter((values) => values.some(Number.isFinite))
    .map((values) => Float32Array.from(values));
const temperatures = fc.double({ min: 0.05, max: 10, noNaN: true });

/** Softmax in the plainest way, by id. */
function softmax(logits: Float32Array, temperature: number): number[] {
  const largest = Math.max(...logits);
  const weights = [...logits].map((logit) => Math.exp((logit - largest) / temperature));
  const total = weights.reduce((sum, weight) => sum + weight, 0);
  return weights.map((weight) => weight / total);
}

function frequencies(logits: Float32Array, options: object, draws: number): number[] {
  const sampler = createSampler(options);
  const counts = new Array<number>(logits.length).fill(0);
  for (let i = 0; i < draws; i++) {
    const id = sampler(logits);
    counts[id] = (counts[id] ?? 0) + 1;
  }
  return counts.map((count) => count / draws);
}

describe('greedy', () => {
  it('takes the largest logit, of equal ones the first', () => {
    expect(largestLogit(Float32Array.of(-5, -1, -2, -1))).toBe(1);
    expect(createSampler()(Float32Array.of(0, 3, 9, 9, 1))).toBe(2);
  });

  it('is what a temperature towards 0 does', () => {
    fc.assert(
      fc.property(logitsOf(), fc.nat(), (logits, seed) => {
        const cold = createSampler({ temperature: 1e-9, topK: 1, seed });
        expect(cold(logits)).toBe(largestLogit(logits));
        const { ids, probabilities } = distributionOf(logits, { temperature: 1e-9 });
        const largest = logits[largestLogit(logits)]!;
        let ofLargest = 0;
        for (const [i, id] of ids.entries()) {
          if (logits[id]! > largest - 1e-6) ofLargest += probabilities[i] as number;
        }
        expect(ofLargest).toBeCloseTo(1, 12);
      }),
    );
  });
});

describe('the kept set', () => {
  it('is all tokens with softmax probabilities by default', () => {
    fc.assert(
      fc.property(logitsOf(), temperatures, (logits, temperature) => {
        const expected = softmax(logits, temperature);
        const { ids, probabilities } = distributionOf(logits, { temperature });
        expect([...ids]).toEqual([...logits.keys()].filter((id) => logits[id] !== -Infinity));
        for (const [i, id] of ids.entries())
          expect(probabilities[i]).toBeCloseTo(expected[id]!, 12);
      }),
    );
  });

  it('of top-p is the smallest one that reaches it, most likely first', () => {
    const topPs = fc.double({ min: 0.01, max: 0.99, noNaN: true });
    fc.assert(
      fc.property(logitsOf(), temperatures, topPs, (logits, temperature, topP) => {
        const all = softmax(logits, temperature);
        const { ids, probabilities } = distributionOf(logits, { temperature, topP });
        const masses = [...ids].map((id) => all[id]!);
        const mass = masses.reduce((sum, one) => sum + one, 0);
        expect(mass).toBeGreaterThan(topP - 1e-9);
        expect(mass - masses.at(-1)!).toBeLessThan(topP + 1e-9);
        const left = all.filter((_, id) => !ids.includes(id));
        expect(Math.max(0, ...left)).toBeLessThanOrEqual(masses.at(-1)! + 1e-12);
        for (const [i, one] of masses.entries())
          expect(probabilities[i]).toBeCloseTo(one / mass, 9);
      }),
      { numRuns: 300 },
    );
  });

  it('of top-k is the k largest, of equal ones the first', () => {
    expect([
      ...distributionOf(Float32Array.of(1, 2, 2, 2, 3), { temperature: 1, topK: 3 }).ids,
    ]).toEqual([1, 2, 4]);
    fc.assert(
      fc.property(logitsOf(), fc.integer({ min: 1, max: 45 }), (logits, topK) => {
        const { ids } = distributionOf(logits, { temperature: 1, topK });
        const order = [...logits.keys()]
          .filter((id) => logits[id] !== -Infinity)
          .sort((a, b) => logits[b]! - logits[a]! || a - b);
        expect([...ids]).toEqual(order.slice(0, topK).sort((a, b) => a - b));
      }),
    );
  });

  it('of both is top-p of what top-k leaves', () => {
    // 0.4, 0.3, 0.2, 0.1: of the first three (sum 0.9), 0.7 of the mass is 0.63, which the first two reach.
    const logits = Float32Array.of(0.1, 0.4, 0.2, 0.3).map(Math.log);
    const { ids, probabilities } = distributionOf(logits, { temperature: 1, topK: 3, topP: 0.7 });
    expect([...ids]).toEqual([1, 3]);
    expect(probabilities[0]).toBeCloseTo(4 / 7, 6);
  });
});

describe('draws', () => {
  const logits = Float32Array.of(0.5, 0.25, 0.15, 0.1).map(Math.log);

  it('have the frequencies of the probabilities', () => {
    const draws = 40_000;
    const expected = [0.5, 0.25, 0.15, 0.1];
    const found = frequencies(logits, { temperature: 1, seed: 7 }, draws);
    // Four standard deviations.
    for (const [id, p] of expected.entries()) {
      expect(Math.abs(found[id]! - p)).toBeLessThan(4 * Math.sqrt((p * (1 - p)) / draws));
    }
    const warm = frequencies(logits, { temperature: 2, seed: 7 }, draws);
    const roots = expected.map(Math.sqrt);
    const total = roots.reduce((sum, root) => sum + root, 0);
    for (const [id, root] of roots.entries()) expect(warm[id]).toBeCloseTo(root / total, 1);
    expect(frequencies(logits, { temperature: 1, topP: 0.6 }, 1000)[2]).toBe(0);
  });

  it('repeat with a seed and differ with another, the same on every machine', () => {
    const run = (seed: number) => {
      const sampler = createSampler({ temperature: 1, seed });
      return Array.from({ length: 24 }, () => sampler(logits));
    };
    expect(run(1)).toEqual(run(1));
    expect(run(1)).not.toEqual(run(2));
    const random = createRandom(1);
    expect(Array.from({ length: 4 }, random)).toMatchInlineSnapshot(`
      [
        0.5686059948349658,
        0.8893939367683266,
        0.4705824180198359,
        0.35296769838967534,
      ]
    `);
  });

  it('come from evenly spread numbers', () => {
    const random = createRandom(12345);
    const buckets = new Array<number>(16).fill(0);
    for (let i = 0; i < 64_000; i++) {
      const bucket = Math.floor(random() * 16);
      buckets[bucket] = buckets[bucket]! + 1;
    }
    // Chi-squared with 15 degrees of freedom: below 37.7 in 999 of 1000 seeds.
    const chi = buckets.reduce((sum, count) => sum + (count - 4000) ** 2 / 4000, 0);
    expect(chi).toBeLessThan(37.7);
  });
});

describe('refusals', () => {
  it.each([
    [{ temperature: -1 }],
    [{ temperature: Number.NaN }],
    [{ topP: 0 }],
    [{ topP: 1.5 }],
    [{ topK: 2.5 }],
    [{ seed: -1 }],
    [{ seed: 2 ** 32 }],
    [{ temprature: 1 }],
  ])('%j is OPTION_INVALID', (options) => {
    expect(() => createSampler(options as object)).toThrow(/OPTION_INVALID/);
  });

  it('logits that are no numbers, or leave nothing, are TENSOR_INVALID', () => {
    for (const temperature of [0, 1]) {
      const sampler = createSampler({ temperature });
      expect(() => sampler(Float32Array.of(1, Number.NaN))).toThrow(/TENSOR_INVALID: .*token 1/);
      expect(() => sampler(Float32Array.of(Number.POSITIVE_INFINITY))).toThrow(/TENSOR_INVALID/);
      expect(() => sampler(Float32Array.of(-Infinity, -Infinity))).toThrow(/TENSOR_INVALID/);
      expect(() => sampler(new Float32Array(0))).toThrow(/TENSOR_INVALID/);
    }
  });
});
