// Caches leave no buffer behind, and steps make no pipeline and no buffer. The script find-leaks does it longer.
import { expect, it } from 'vitest';
import { leaksOf } from './support/leaks.js';

it('keeps nothing of 20 caches, and makes nothing new in 200 steps', {
  timeout: 120_000,
}, async () => {
  expect(await leaksOf(20, 200)).toEqual({
    newPipelines: 0,
    grown: 0,
    newBuffers: 0,
    leftOver: [],
    stepsDone: 200,
  });
});
