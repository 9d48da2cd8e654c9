/**
 * Whether an object satisfies the backend contract, and whether its answers do.
 */
import type { Backend, BackendSupport, BlockStore } from '../backend.js';
import { formatValue, LowbitKvError } from '../errors.js';

const METHODS = ['probe', 'supports', 'createStore'] as const;
const STORE_METHODS = [
  'append',
  'attend',
  'settle',
  'forget',
  'readPages',
  'writePages',
  'dispose',
] as const;

/** Throws BACKEND_INVALID or SPEC_VERSION_UNSUPPORTED. */
export function checkBackend(backend: unknown): asserts backend is Backend {
  const valid =
    'an object that satisfies the Backend interface, its id lower-case words joined by hyphens';
  const next = 'Pass what the backend package exports for this purpose.';
  const refuse = (message: string, value: unknown): never => {
    throw new LowbitKvError('BACKEND_INVALID', { message, value, valid, next });
  };
  if (typeof backend !== 'object' || backend === null)
    return refuse('a backend must be an object', backend);
  const { id, specVersion } = backend as Partial<Backend>;
  if (id === undefined && specVersion === undefined)
    refuse('a backend has neither id nor specVersion', backend);
  if (specVersion !== 1) {
    throw new LowbitKvError('SPEC_VERSION_UNSUPPORTED', {
      message: `backend ${formatValue(id)} has another specVersion`,
      value: specVersion,
      valid: [1],
      next: 'Install the version of the backend package that matches this core, or update core.',
    });
  }
  if (typeof id !== 'string' || !/^[a-z0-9]+(-[a-z0-9]+)*$/.test(id))
    refuse('a backend id is not valid', id);
  const missing = METHODS.filter(
    (name) => typeof (backend as Partial<Backend>)[name] !== 'function',
  );
  if (missing.length > 0) refuse(`backend ${formatValue(id)} lacks ${missing.join(', ')}`, missing);
}

/** Throws BACKEND_INVALID for an answer of `supports` that could be taken for consent. */
export function checkSupport(id: string, support: BackendSupport): BackendSupport {
  if (support?.kind === 'native') return support;
  if (support?.kind === 'emulated' || support?.kind === 'refused') {
    if (Array.isArray(support.reasons)) return support;
  }
  return refuseAnswer(id, 'supports', support, 'native, or emulated or refused with `reasons`');
}

/** Throws BACKEND_INVALID unless a store has every method and says what it allocated. */
export function checkStore(id: string, store: BlockStore): BlockStore {
  const lacking = STORE_METHODS.filter((name) => typeof store?.[name] !== 'function');
  if (lacking.length === 0 && Number.isSafeInteger(store.allocatedBytes)) return store;
  const wrong = lacking.length > 0 ? `a store without ${lacking.join(', ')}` : store.allocatedBytes;
  return refuseAnswer(id, 'createStore', wrong, 'a BlockStore with whole `allocatedBytes`');
}

function refuseAnswer(id: string, method: string, value: unknown, valid: string): never {
  throw new LowbitKvError('BACKEND_INVALID', {
    message: `${method} of backend ${formatValue(id)} broke the contract`,
    value,
    valid,
    next: 'Report it to the authors of the backend.',
  });
}
