/**
 * Creates a cache for a plan on a backend.
 */
import type { Backend } from '../backend.js';
import { LowbitKvError } from '../errors.js';
import type { Plan } from '../plan/plan.js';
import { Cache, type CacheOptions } from './cache.js';
import { type CacheCapacity, checkCount, pageCounts } from './capacity.js';

export interface CreateCacheOptions extends CacheOptions {
  readonly capacity: CacheCapacity;
  /** Accept a backend that only emulates the plan. Default false. */
  readonly allowEmulation?: boolean;
}

/** Asks the backend first, then allocates all pages. Throws PLAN_REFUSED, BACKEND_UNAVAILABLE or OPTION_INVALID. */
export async function createCache(
  plan: Plan,
  backend: Backend,
  options: CreateCacheOptions,
): Promise<Cache> {
  const support = backend.supports(plan);
  if (
    support.kind === 'refused' ||
    (support.kind === 'emulated' && options.allowEmulation !== true)
  ) {
    throw new LowbitKvError('PLAN_REFUSED', {
      message: `backend ${JSON.stringify(backend.id)} does not execute scheme ${JSON.stringify(plan.scheme.id)}${support.kind === 'emulated' ? ' itself' : ''}`,
      value: support.reasons,
      valid: 'a plan the backend supports',
      next:
        support.kind === 'emulated'
          ? 'Pass allowEmulation: true, or use another backend.'
          : 'Use another backend or scheme.',
    });
  }
  const rollback = checkCount('rollback', options.rollback ?? 0, 0);
  const nonFinite = options.nonFinite ?? 'error';
  if (nonFinite !== 'error' && nonFinite !== 'mask') {
    throw new LowbitKvError('OPTION_INVALID', {
      message: 'nonFinite is not valid',
      value: nonFinite,
      valid: ['error', 'mask'],
      next: 'Correct the option.',
      where: { field: 'nonFinite' },
    });
  }
  const pages = pageCounts(plan, options.capacity, rollback);
  const probe = await backend.probe();
  if (!probe.ok) {
    throw new LowbitKvError('BACKEND_UNAVAILABLE', {
      message: `backend ${JSON.stringify(backend.id)} cannot start`,
      value: probe.reason,
      valid: 'a backend whose probe succeeds',
      next: probe.next,
    });
  }
  const store = await backend.createStore(plan, { pages, nonFinite });
  return new Cache(plan, store, pages, { rollback, nonFinite });
}
