/**
 * Whether the presets that come with this command load, validate and lay out, and which backends run them.
 */
import {
  type Backend,
  type BackendSupport,
  createLowbitKv,
  LowbitKvError,
  referenceBackend,
  type Scheme,
} from '@lowbit-kv/core';
import { createBackends } from '../backends.js';
import { builtinSchemes } from '../schemes/builtin-schemes.js';
import { LISTED_GEOMETRY, planForSizes } from '../schemes/scheme-summary.js';

export interface SchemeReport {
  readonly id: string;
  readonly source: string;
  /** Null when the scheme is usable. */
  readonly reason: string | null;
  /** What each backend says of it, whether or not the backend can start here. */
  readonly support: readonly ({ readonly backend: string } & BackendSupport)[];
}

export async function examineSchemes(): Promise<SchemeReport[]> {
  const named = await builtinSchemes();
  const backends = [referenceBackend(), ...(await createBackends('onnx'))];
  return named.map(({ scheme, source }) => {
    try {
      createLowbitKv({ schemes: [scheme] });
      return { id: scheme.id, source, reason: null, support: supportOf(scheme, backends) };
    } catch (error) {
      if (!LowbitKvError.is(error)) throw error;
      return { id: scheme.id, source, reason: error.message, support: [] };
    }
  });
}

function supportOf(scheme: Scheme, backends: readonly Backend[]): SchemeReport['support'] {
  const plan = planForSizes(scheme, LISTED_GEOMETRY);
  return backends.map((backend) => ({ backend: backend.id, ...backend.supports(plan) }));
}
