/**
 * Whether an object satisfies the backend contract.
 */
import type { Backend } from '../backend.js';
import { formatValue, LowbitKvError } from '../errors.js';

const METHODS = ['probe', 'supports', 'createStore'] as const;

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
