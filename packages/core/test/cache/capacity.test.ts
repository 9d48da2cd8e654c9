// The promise of a capacity: within its tokens and sequences no step runs out of pages, forks included.
import * as fc from 'fast-check';
import { expect, it } from 'vitest';
import { createCache, f16Tensor, referenceBackend, type Sequence } from '../../src/index.js';
import { HEADS, KEY_DIM, LAYERS, setups, VALUE_DIM } from '../../src/programs/setups.js';
import { tokenIdRange } from '../../src/testing/index.js';
import { appendIds, expectContents, openCache, pointerInput } from '../support/pointer-cache.js';
import { scheme } from '../support/schemes.js';

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

it('is enough for two branches that go on in one step, tokens that they share counted once', async () => {
  const f16 = scheme({ key: { bits: 16 }, value: { bits: 16 } });
  const cache = await openCache(f16, {}, { capacity: { tokens: 35, sequences: 2 } });
  const parent = cache.createSequence();
  await appendIds(cache, parent, tokenIdRange(0, 31));
  const child = cache.fork(parent);
  // Both write to the page that they share, and fill it.
  const added = [1000, 2000].map((first) => ({ ids: tokenIdRange(first, 2) }));
  const entries = [parent, child].map((sequence) => ({ sequence, tokens: 2 }));
  await cache.append(entries, [pointerInput(cache, added)]);
  await expectContents(cache, parent, [...tokenIdRange(0, 31), ...tokenIdRange(1000, 2)]);
  await expectContents(cache, child, [...tokenIdRange(0, 31), ...tokenIdRange(2000, 2)]);
});
