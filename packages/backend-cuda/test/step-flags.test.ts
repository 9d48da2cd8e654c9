// Words of jobs: as many as there are for open steps, free again with every step that ends.
import { LowbitKvError } from '@lowbit-kv/core';
import { expect, test } from 'vitest';
import { StepFlags } from '../src/store/step-flags.js';
import { errorOf, withFake } from './support/open-fake.js';

const FLAGS = 4096;
const failure = (number: number) =>
  new LowbitKvError('NON_FINITE', { message: 'a test', value: number, valid: '', next: '' });

test.each(['check', 'release'] as const)('words of a step are free after %s', async (end) => {
  await withFake({}, async ({ context, stream }) => {
    const flags = new StepFlags(context, stream);
    const places = new Set<bigint>();
    for (let step = 0; step < 4; step++) {
      for (let job = 0; job < FLAGS / 2; job++) places.add(flags.register(step, failure));
      await flags[end](step);
    }
    expect(places.size).toBeLessThanOrEqual(FLAGS);
    for (let job = 0; job < FLAGS; job++) flags.register(9, failure);
    expect((await errorOf(() => flags.register(9, failure))).code).toBe('STEP_STATE');
    await flags[end](9);
    flags.register(10, failure);
    flags.dispose();
  });
});
