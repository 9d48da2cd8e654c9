// An observed backend is the backend: it passes the contract suite, whatever its observer does.
import { afterAll, describe, expect } from 'vitest';
import { backendChecks } from '../../src/contract/index.js';
import { register } from '../../src/contract/register.js';
import { type BackendCall, observeBackend, referenceBackend } from '../../src/index.js';

const seen = new Set<BackendCall>();
let [events, errors] = [0, 0];
const observed = observeBackend(referenceBackend(), {
  values: true,
  onEvent({ type }) {
    seen.add(type);
    events++;
    throw new Error('the observer is broken');
  },
  onError: () => {
    errors++;
  },
});

/** Plans differ in what backends compute; an observer sees layers, units and pages. */
const PLANS = /^plan: (heads of their own|a codec|layers that|a sliding window|channel scale of)/;

describe('contract of an observed backend', () => {
  const checks = backendChecks(observed);
  register(checks.filter(({ name }) => !name.startsWith('plan: ') || PLANS.test(name)));
});

afterAll(() => {
  const calls = ['probe', 'supports', 'create-store', 'append', 'attend', 'read', 'settle'];
  const rarer = ['forget', 'read-pages', 'write-pages', 'dispose'];
  expect([...seen].sort()).toEqual([...calls, ...rarer].sort());
  expect(errors).toBe(events);
});
