/**
 * Creates a cache for a plan on a backend.
 */
import * as z from 'zod';
import type { Backend, BlockStore, StoreOptions } from '../backend.js';
import { LowbitKvError } from '../errors.js';
import type { Plan } from '../plan/plan.js';
import { checkBackend, checkStore, checkSupport } from '../registry/check-backend.js';
import { parseOrThrow } from '../validate.js';
import { Cache, type CacheOptions } from './cache.js';
import { type CacheCapacity, pageCounts } from './capacity.js';
import { guardStore } from './guarded-store.js';

export interface CreateCacheOptions extends CacheOptions {
  readonly capacity: CacheCapacity;
  /** Accept a backend that only emulates the plan. Default false. */
  readonly allowEmulation?: boolean;
}

const optionsSchema = z.strictObject({
  capacity: z.strictObject({ tokens: z.int().min(1), sequences: z.int().min(1).default(1) }),
  rollback: z.int().min(0).default(0),
  nonFinite: z.literal(['error', 'mask']).default('error'),
  allowEmulation: z.boolean().default(false),
});

/**
 * Asks the backend first, then allocates all pages. Throws OPTION_INVALID, BACKEND_INVALID, PLAN_REFUSED,
 * BACKEND_UNAVAILABLE, or BACKEND_FAILED when the pages cannot be allocated.
 */
export async function createCache(
  plan: Plan,
  backend: Backend,
  options: CreateCacheOptions,
): Promise<Cache> {
  checkBackend(backend);
  const { capacity, rollback, nonFinite, allowEmulation } = parseOrThrow(
    optionsSchema as unknown as z.ZodType<z.output<typeof optionsSchema>>,
    options,
    'OPTION_INVALID',
    'options of createCache',
    'Correct the option.',
  );
  const support = checkSupport(backend.id, backend.supports(plan));
  if (support.kind === 'refused' || (support.kind === 'emulated' && !allowEmulation)) {
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
  const pages = pageCounts(plan, capacity, rollback);
  const probe = await backend.probe();
  if (!probe.ok) {
    throw new LowbitKvError('BACKEND_UNAVAILABLE', {
      message: `backend ${JSON.stringify(backend.id)} cannot start`,
      value: probe.reason,
      valid: 'a backend whose probe succeeds',
      next: probe.next,
    });
  }
  const store = await allocate(plan, backend, { pages, nonFinite });
  return new Cache(plan, store, pages, { rollback, nonFinite });
}

async function allocate(plan: Plan, backend: Backend, options: StoreOptions): Promise<BlockStore> {
  try {
    return guardStore(backend.id, checkStore(backend.id, await backend.createStore(plan, options)));
  } catch (cause) {
    if (LowbitKvError.is(cause)) throw cause;
    throw new LowbitKvError('BACKEND_FAILED', {
      message: `backend ${JSON.stringify(backend.id)} cannot allocate the pages of the cache`,
      value: String(cause),
      valid: `memory for ${storeBytes(plan, options)} bytes`,
      next: 'Create the cache with a smaller capacity, or use a scheme with fewer bits.',
      cause,
    });
  }
}

function storeBytes(plan: Plan, { pages }: StoreOptions): number {
  let bytes = 0;
  for (const layer of plan.layers) {
    for (const tensor of [layer.key, layer.value]) {
      const counts = pages[tensor.class];
      bytes +=
        (counts?.packed ?? 0) * (tensor.layout?.pageBytes ?? 0) +
        (counts?.window ?? 0) * tensor.windowPageBytes +
        (counts?.statistics ?? 0) * tensor.statisticsPageBytes;
    }
  }
  return bytes;
}
