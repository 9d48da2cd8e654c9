/** Spending a budget: dynamic programming against every combination, greedy against both. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  type Allocation,
  allocateExactly,
  allocateGreedily,
  type LayerChoice,
  lowestBits,
} from '../src/tune/allocation.js';
import { cpuTime } from './support/cpu-time.js';

const choice = (bits: number, error: number, key = 0, value = 0): LayerChoice => ({
  key,
  value,
  bits,
  error,
});

/** Every combination within the budget, the best first; null when there is none. */
function bruteForce(layers: readonly (readonly LayerChoice[])[], budget: number): number | null {
  let best: number | null = null;
  const visit = (layer: number, bits: number, error: number) => {
    if (layer === layers.length) {
      if (bits <= budget * layers.length + 1e-9 && (best === null || error < best)) best = error;
      return;
    }
    for (const next of layers[layer] as LayerChoice[])
      visit(layer + 1, bits + next.bits, error + next.error);
  };
  visit(0, 0, 0);
  return best === null ? null : best / layers.length;
}

function consistent(layers: readonly (readonly LayerChoice[])[], allocation: Allocation): void {
  const { choices } = allocation;
  expect(choices).toHaveLength(layers.length);
  for (const [i, chosen] of choices.entries()) expect(layers[i]).toContain(chosen);
  const mean = (figure: (choice: LayerChoice) => number) =>
    choices.reduce((sum, next) => sum + figure(next), 0) / choices.length;
  expect(allocation.bits).toBeCloseTo(
    mean(({ bits }) => bits),
    12,
  );
  expect(allocation.error).toBeCloseTo(
    mean(({ error }) => error),
    12,
  );
}

// Eighths of a bit, and shares of outliers that are no such fraction.
const bits = fc.oneof(
  fc.integer({ min: 8, max: 128 }).map((n) => n / 8),
  fc.integer({ min: 1, max: 9 }).map((n) => 4 + n / 10),
);
const layer = fc.array(
  fc.record({ bits, error: fc.integer({ min: 0, max: 1000 }).map((n) => n / 1024) }),
  { minLength: 1, maxLength: 7 },
);
const layersOf = fc
  .array(layer, { minLength: 1, maxLength: 5 })
  .map((layers) => layers.map((some) => some.map(({ bits: b, error }) => choice(b, error))));

it('allocates nothing when a layer has no choice', () => {
  expect(allocateExactly([[choice(3, 1)], []], 16)).toBeNull();
  expect(allocateGreedily([[choice(3, 1)], []], 16)).toBeNull();
});

describe('dynamic programming', () => {
  it('finds what the best of all combinations has, at every budget', () => {
    fc.assert(
      fc.property(layersOf, fc.integer({ min: 8, max: 160 }), (layers, eighths) => {
        const budget = eighths / 10;
        const best = bruteForce(layers, budget);
        const found = allocateExactly(layers, budget);
        if (best === null || found === null) {
          expect(found).toBe(best);
          expect(budget).toBeLessThan(lowestBits(layers));
          return;
        }
        consistent(layers, found);
        expect(found.bits).toBeLessThanOrEqual(budget + 1e-9);
        expect(found.error).toBeCloseTo(best, 12);
      }),
      { numRuns: 300 },
    );
  });

  it('fits the smallest budget exactly, and none below', () => {
    const layers = [
      [choice(2.25, 1), choice(3, 0.5)],
      [choice(4.8, 0.1), choice(2.5, 2)],
    ];
    expect(lowestBits(layers)).toBe(2.375);
    expect(allocateExactly(layers, 2.375)).toMatchObject({ bits: 2.375, error: 1.5 });
    expect(allocateExactly(layers, 2.374)).toBeNull();
    expect(allocateGreedily(layers, 2.374)).toBeNull();
  });

  it('takes 40 layers of a hundred choices in its stride', () => {
    const random = fc.sample(fc.float({ min: 0, max: 1, noNaN: true }), {
      numRuns: 40 * 100,
      seed: 7,
    });
    const layers = Array.from({ length: 40 }, (_, l) =>
      Array.from({ length: 100 }, (_, c) =>
        choice(2 + c / 32, (random[l * 100 + c] ?? 0) / (c + 1)),
      ),
    );
    const before = cpuTime();
    const best = allocateExactly(layers, 3.25) as Allocation;
    expect(cpuTime() - before).toBeLessThan(5000);
    consistent(layers, best);
    expect(best.bits).toBeLessThanOrEqual(3.25 + 1e-9);
    expect(best.error).toBeLessThanOrEqual((allocateGreedily(layers, 3.25) as Allocation).error);
  });
});

describe('greedy', () => {
  it('stays within the budget and never beats dynamic programming', () => {
    fc.assert(
      fc.property(layersOf, fc.integer({ min: 8, max: 160 }), (layers, tenths) => {
        const budget = tenths / 10;
        const greedy = allocateGreedily(layers, budget);
        const best = allocateExactly(layers, budget);
        if (greedy === null || best === null) {
          expect(greedy).toBe(best);
          return;
        }
        consistent(layers, greedy);
        expect(greedy.bits).toBeLessThanOrEqual(budget + 1e-9);
        expect(greedy.error).toBeGreaterThanOrEqual(best.error - 1e-12);
      }),
      { numRuns: 300 },
    );
  });

  it('misses what lies off the hull: the budget is left unspent', () => {
    // The step to 4 bits is on the hull and does not fit; the one to 3 is above the hull and does.
    const layers = [[choice(2, 1), choice(3, 0.6), choice(4, 0)]];
    expect(allocateGreedily(layers, 3)).toMatchObject({ bits: 2, error: 1 });
    expect(allocateExactly(layers, 3)).toMatchObject({ bits: 3, error: 0.6 });
  });

  it('is the best where every step fits', () => {
    const layers = [
      [choice(2, 1), choice(3, 0.4), choice(4, 0.3)],
      [choice(2, 0.5), choice(3, 0.2)],
    ];
    for (const budget of [2, 2.5, 3, 3.5])
      expect(allocateGreedily(layers, budget)).toEqual(allocateExactly(layers, budget));
  });
});
