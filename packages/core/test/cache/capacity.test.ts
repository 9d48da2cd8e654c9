// The promise of a capacity: within its tokens and sequences no step runs out of pages, forks included.
import * as fc from 'fast-check';
import { expect, it } from 'vitest';
import { createCache, f16Tensor, referenceBackend, type Sequence } from '../../src/index.js';
import { HEADS, KEY_DIM, LAYERS, setups, VALUE_DIM } from '../support/cache-programs.js';

const programs = fc.array(
  fc.record({
    kind: fc.constantFrom('step', 'step', 'step', 'fork', 'reset'),
    picks: fc.array(fc.nat(20), { minLength: 1, maxLength: 3 }),
    tokens: fc.oneof(fc.integer({ min: 1, max: 3 }), fc.integer({ min: 1, max: 90 })),
  }),
  { minLength: 1, maxLength: 25 },
);

it('is enough for any program without truncation', async () => {
  let steps = 0;
  await fc.assert(
    fc.asyncProperty(setups, programs, async ({ plan, rollback, tokens, sequences }, program) => {
      const cache = await createCache(plan, referenceBackend(), {
        capacity: { tokens, sequences },
        rollback,
      });
      const alive: Sequence[] = [cache.createSequence()];
      const total = () => alive.reduce((sum, sequence) => sum + sequence.length, 0);
      for (const { kind, picks, tokens: count } of program) {
        const chosen = [...new Set(picks.map((pick) => alive[pick % alive.length] as Sequence))];
        const first = chosen[0] as Sequence;
        if (kind === 'reset') cache.reset(first);
        else if (kind === 'fork') {
          if (alive.length < sequences && total() + first.length <= tokens)
            alive.push(picks.length > 1 ? cache.fork(first) : cache.createSequence());
        } else {
          const each = Math.min(count, Math.floor((tokens - total()) / chosen.length));
          if (each < 1) continue;
          const rows = each * chosen.length;
          const zeros = (dim: number) =>
            f16Tensor(new Uint16Array(rows * HEADS * dim), [rows, HEADS, dim]);
          const input = { key: zeros(KEY_DIM), value: zeros(VALUE_DIM) };
          const entries = chosen.map((sequence) => ({ sequence, tokens: each }));
          await cache.append(entries, Array(LAYERS).fill(input));
          steps++;
        }
      }
    }),
    { numRuns: 400, interruptAfterTimeLimit: 6000, verbose: 1 },
  );
  expect(steps).toBeGreaterThan(50);
}, 30_000);
