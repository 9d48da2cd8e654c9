// Case cache-sliding-window-eviction: the edge of the window moves token by token through packed groups.
import { describe, expect, it } from 'vitest';
import type { TensorScheme } from '../../src/index.js';
import { tokenIdRange } from '../../src/testing/index.js';
import { bothAlongTokens, someExactSchemes } from '../support/exact-schemes.js';
import {
  appendIds,
  expectMean,
  expectMean32,
  expectPattern,
  openCache,
} from '../support/pointer-cache.js';
import { scheme, tensor } from '../support/schemes.js';
import { loadCase } from '../testing/load-case.js';

interface Visible {
  sinks: number;
  from: number | null;
  to: number;
  count: number;
}
interface Input {
  window: number;
  sink: number;
  append: { count: number; chunk: number }[];
  G: number;
  checkLengths: number[];
}
const { input, expected } = loadCase<
  Input,
  { visibleAt: Record<string, Visible>; zeroQueryMean32_at300: number[] }
>('cache-sliding-window-eviction');
const slidingWindow = { size: input.window, sinks: input.sink };

function visibleAt(length: number): number[] {
  const { sinks, from, to, count } = expected.visibleAt[length] as Visible;
  const ids = [
    ...tokenIdRange(0, sinks),
    ...(from === null ? [] : tokenIdRange(from, to - from + 1)),
  ];
  expect(ids.length).toBe(count);
  return ids;
}

const rows = [
  ...someExactSchemes([0, 32]),
  { name: 'both along tokens, 2 bit', scheme: bothAlongTokens(2) },
].flatMap((named) => input.append.map((plan) => ({ ...named, ...plan })));

describe.each(rows)('steps of $chunk: $name', ({ scheme: spec, chunk, count }) => {
  it('sees the sinks and the newest tokens, and holds no more than it must', async () => {
    const cache = await openCache(spec, { slidingWindow });
    const sequence = cache.createSequence();
    // A block is the smallest unit that goes: the group, or what a scheme flushes at once.
    const most = cache.plan.classes.map(
      ({ flush }) => input.sink + input.window + 2 * Math.max(input.G, flush),
    );
    let checked = 0;
    while (sequence.length < count) {
      const next = input.checkLengths.find(
        (length) => length > sequence.length && length < sequence.length + chunk,
      );
      // With steps of one every length is met; longer steps meet the end.
      const size = chunk === 1 ? 1 : Math.min(chunk, count - sequence.length);
      expect(chunk === 1 ? next : undefined).toBeUndefined();
      await appendIds(cache, sequence, tokenIdRange(sequence.length, size));
      const classes = (await cache.stats()).sequences.flatMap((held) => held.classes);
      for (const [i, held] of classes.entries())
        expect(held.sinks + held.packed + held.tail).toBeLessThanOrEqual(most[i] as number);
      if (!input.checkLengths.includes(sequence.length)) continue;
      checked++;
      const ids = visibleAt(sequence.length);
      await expectMean(cache, sequence, ids);
      for (const id of [ids[0], ids[Math.min(4, ids.length - 1)], ids.at(-1)])
        await expectPattern(cache, sequence, id as number);
    }
    expect(checked).toBe(chunk === 1 ? input.checkLengths.length : chunk === 50 ? 2 : 1);
    await expectMean32(cache, sequence, expected.zeroQueryMean32_at300);
  });
});

it('attention inside a long step sees one window per query', async () => {
  for (const { scheme: spec } of someExactSchemes([0, 32])) {
    const cache = await openCache(spec, { slidingWindow });
    const sequence = cache.createSequence();
    await appendIds(cache, sequence, tokenIdRange(0, 70));
    const { attendIds } = await import('../support/step-queries.js');
    await attendIds(cache, sequence, tokenIdRange(70, 100), (position) => [
      ...tokenIdRange(0, input.sink),
      ...tokenIdRange(Math.max(input.sink, position - input.window + 1), input.window).filter(
        (id) => id <= position,
      ),
    ]);
  }
});

it('refuses keys that attention has to rotate, when it cannot know how', async () => {
  const key = { ...tensor({ bits: 4 }), stage: 'pre-rope' } as TensorScheme;
  await expect(openCache({ ...scheme(), key }, { slidingWindow })).rejects.toMatchObject({
    code: 'GEOMETRY_INVALID',
    where: { layer: 0, field: 'rotary' },
  });
});
