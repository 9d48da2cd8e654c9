// Copy on write on a backend that copies no more slots than a job names: whatever it reads later must be among them.
import { expect, it } from 'vitest';
import { createCache, createPlan, type Span, type TensorWork } from '../../src/index.js';
import { tokenIdRange } from '../../src/testing/index.js';
import { doctored } from '../support/doctored-backends.js';
import { appendIds, expectContents, expectMean, GEOMETRY } from '../support/pointer-cache.js';
import { tokenKeys } from '../support/schemes.js';

/** Which slots of the pages of one tensor hold tokens when a copy brings those that it names. */
class HeldSlots {
  readonly copied = { window: 0, packed: 0 };
  readonly #pages = new Map<string, Set<number>>();

  execute({ copies, writes, packs }: TensorWork): void {
    for (const { kind, from, to, count } of copies) {
      const source = this.#page(kind, from);
      const named = [...source].filter((slot) => slot < count);
      this.#pages.set(`${kind} ${to}`, new Set(named));
      this.copied[kind]++;
    }
    for (const { page, slot, count } of writes) this.#fill('window', page, slot, count);
    for (const { page, slot, count, sources } of packs) {
      this.expectHeld(sources);
      this.#fill('packed', page, slot, count);
    }
  }

  expectHeld(spans: readonly Span[]): void {
    for (const { source, page, slot, count } of spans) {
      if (source === 'input') continue;
      const wanted = tokenIdRange(slot, count);
      const held = this.#page(source, page);
      expect(wanted.filter((each) => !held.has(each))).toEqual([]);
    }
  }

  #page(kind: string, page: number): Set<number> {
    return this.#pages.get(`${kind} ${page}`) ?? new Set();
  }

  #fill(kind: string, page: number, slot: number, count: number): void {
    const held = new Set([...this.#page(kind, page), ...tokenIdRange(slot, count)]);
    this.#pages.set(`${kind} ${page}`, held);
  }
}

it.each([0, 8, 40])('residual %i', async (residual) => {
  const slots = { key: new HeldSlots(), value: new HeldSlots() };
  const backend = doctored((inner) => ({
    append: (job) => {
      for (const tensor of ['key', 'value'] as const) slots[tensor].execute(job.work[tensor]);
      inner.append(job);
    },
    attend: (job) => {
      for (const { key, value } of job.sequences) {
        slots.key.expectHeld(key.spans);
        slots.value.expectHeld(value.spans);
      }
      return inner.attend(job);
    },
  }));
  const plan = createPlan(tokenKeys({ residual }), GEOMETRY);
  const cache = await createCache(plan, backend, { capacity: { tokens: 512, sequences: 2 } });
  const parent = cache.createSequence();
  // Token by token the tail moves on inside its page.
  await appendIds(cache, parent, tokenIdRange(0, 45), { chunk: 1 });
  const child = cache.fork(parent);
  await appendIds(cache, child, tokenIdRange(1000, 50), { chunk: 1 });
  await appendIds(cache, parent, tokenIdRange(2000, 50), { chunk: 1 });
  for (const [sequence, first] of [
    [child, 1000],
    [parent, 2000],
  ] as const) {
    const ids = [...tokenIdRange(0, 45), ...tokenIdRange(first, 50)];
    await expectContents(cache, sequence, ids);
    await expectMean(cache, sequence, ids);
  }
  expect(slots.key.copied.window + slots.value.copied.window).toBeGreaterThan(0);
});
