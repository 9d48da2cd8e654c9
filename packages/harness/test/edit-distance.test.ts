// "Did you mean" for names of any length, as configurations and command lines have them.
import { expect, it } from 'vitest';
import { nearest } from '../src/index.js';

it('finds the name that is meant', () => {
  const names = ['windows', 'window', 'positions', 'scheme'];
  expect(nearest('widnows', names)).toBe('windows');
  expect(nearest('positons', names)).toBe('positions');
  expect(nearest('shceme', names)).toBe('scheme');
  expect(nearest('backend', names)).toBeUndefined();
  expect(nearest('', names)).toBeUndefined();
});

it('takes no time for a name of a million letters', () => {
  const names = Array.from({ length: 100 }, (_, i) => `name-of-a-setting-${i}`);
  const start = performance.now();
  expect(nearest('x'.repeat(1_000_000), names)).toBeUndefined();
  expect(performance.now() - start).toBeLessThan(500);
});
