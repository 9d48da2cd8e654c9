/**
 * Observes a backend: the same answers, bytes and errors, with an event before and after every call.
 */
import type { Backend } from '../backend.js';
import { LowbitKvError } from '../errors.js';
import { checkOptions } from '../options.js';
import { checkBackend, checkStore } from '../registry/check-backend.js';
import { type BackendObserver, EventSource } from './event-source.js';
import { observeStore } from './observed-store.js';
import { summarizePlan } from './plan-summary.js';

/**
 * A backend of the same id, for whatever takes one. What a backend has beside the contract, such as tensors of its memory, stays
 * with the one that was given. Throws BACKEND_INVALID and OPTION_INVALID.
 */
export function observeBackend(backend: Backend, observer: BackendObserver): Backend {
  checkBackend(backend);
  checkObserver(observer);
  const source = new EventSource(backend.id, observer);
  let stores = 0;
  return {
    specVersion: 1,
    id: backend.id,
    probe: () =>
      source.later(
        {
          ...{ type: 'probe', store: null },
          inputs: () => ({}),
          outputs: (answer) => ({ answer: { ...answer } }),
        },
        () => backend.probe(),
      ),
    supports: (plan) =>
      source.now(
        {
          ...{ type: 'supports', store: null },
          inputs: () => ({ plan: summarizePlan(plan) }),
          outputs: (answer) => ({ answer: structuredClone(answer) }),
        },
        () => backend.supports(plan),
      ),
    async createStore(plan, options) {
      const store = ++stores;
      const inner = await source.later(
        {
          ...{ type: 'create-store', store },
          inputs: () => ({
            plan: summarizePlan(plan),
            pages: options.pages.map((counts) => ({ ...counts })),
            nonFinite: options.nonFinite,
          }),
          outputs: ({ allocatedBytes }) => ({ allocatedBytes }),
        },
        async () => checkStore(backend.id, await backend.createStore(plan, options)),
      );
      return observeStore(inner, plan, store, source);
    },
  };
}

const TYPES = { onEvent: 'function', values: 'boolean', onError: 'function' } as const;

/** Throws OPTION_INVALID. */
function checkObserver(observer: BackendObserver): void {
  checkOptions('an observer', observer, Object.keys(TYPES));
  for (const [field, type] of Object.entries(TYPES)) {
    const value: unknown = observer[field as keyof typeof TYPES];
    if (typeof value === type || (value === undefined && field !== 'onEvent')) continue;
    throw new LowbitKvError('OPTION_INVALID', {
      message: `${field} of an observer is not valid`,
      value,
      valid: `a ${type}`,
      next: 'Pass an observer such as { onEvent: (event) => console.error(eventText(event)) }.',
      where: { field },
    });
  }
}
