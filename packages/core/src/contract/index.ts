/**
 * Public entry of @lowbit-kv/core/contract: the contract suite for authors of backends and schemes, on vitest.
 */
import { describe } from 'vitest';
import type { Backend } from '../backend.js';
import type { Scheme } from '../scheme.js';
import { type BackendContractOptions, backendChecks } from './backend-checks.js';
import { register } from './register.js';
import { type SchemeContractOptions, schemeChecks } from './scheme-checks.js';

export { type BackendContractOptions, backendChecks } from './backend-checks.js';
export { type ContractCheck, ContractFailure, ContractSkip } from './check.js';
export { type SchemeContractOptions, schemeChecks } from './scheme-checks.js';
export {
  type AttentionTolerances,
  DECODED_ATTENTION,
  F32_ATTENTION,
  FAST_ATTENTION,
  FLOAT64_ATTENTION,
  INTEGER_ATTENTION,
} from './tolerances.js';
export {
  createTwin,
  type Pair,
  type PairEntry,
  Twin,
  type TwinOptions,
} from './twin.js';

/** Registers the tests of a backend. Plans that it refuses are skipped with its reasons. */
export function describeBackend(backend: Backend, options: BackendContractOptions = {}): void {
  describe(`contract of backend ${backend.id}`, () => register(backendChecks(backend, options)));
}

/** Registers the tests of a scheme. */
export function describeScheme(scheme: Scheme, options: SchemeContractOptions = {}): void {
  describe(`contract of scheme ${scheme.id}`, () => register(schemeChecks(scheme, options)));
}
