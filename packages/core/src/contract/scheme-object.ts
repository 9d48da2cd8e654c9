/**
 * The scheme as an object: it satisfies the contract, is frozen, survives JSON, and its fingerprint is of its meaning.
 */
import { canonicalJson } from '../fingerprint.js';
import { schemeFingerprint } from '../plan/plan.js';
import type { Scheme } from '../scheme.js';
import { defineScheme, schemeDataOf } from '../scheme-schema.js';
import { type ContractCheck, check, ensure, ensureEqual } from './check.js';

export function objectChecks(scheme: Scheme): ContractCheck[] {
  return [
    check('satisfies the scheme contract', async () => {
      const defined = defineScheme(scheme);
      ensureEqual(
        canonicalJson(schemeDataOf(defined)),
        canonicalJson(schemeDataOf(scheme)),
        'data',
      );
      ensureEqual(
        scheme.calibrate === undefined || scheme.calibration.kind === 'offline',
        true,
        'a calibrate function needs calibration: offline',
      );
    }),
    check('is frozen to the bottom', async () => {
      const loose = firstUnfrozen(scheme, 'scheme');
      ensure(loose === null, `${loose} is not frozen; make it with defineScheme`);
    }),
    check('survives JSON with its fingerprint, whatever the order of its fields', async () => {
      const print = schemeFingerprint(scheme);
      ensure(/^[0-9a-f]{64}$/.test(print), `the fingerprint ${print} is no SHA-256`);
      const copy = defineScheme(JSON.parse(JSON.stringify(schemeDataOf(scheme))));
      ensureEqual(canonicalJson(copy), canonicalJson(schemeDataOf(scheme)), 'data after JSON');
      ensureEqual(schemeFingerprint(copy), print, 'fingerprint after JSON');
      const turned = defineScheme(reversed(schemeDataOf(scheme)) as Scheme);
      ensureEqual(schemeFingerprint(turned), print, 'fingerprint with fields in another order');
      const changed = defineScheme({ ...copy, sinks: copy.sinks + 1 });
      ensure(schemeFingerprint(changed) !== print, 'the fingerprint does not depend on the sinks');
    }),
  ];
}

function firstUnfrozen(value: unknown, path: string): string | null {
  if (typeof value !== 'object' || value === null) return null;
  if (!Object.isFrozen(value)) return path;
  for (const [name, field] of Object.entries(value)) {
    const found = firstUnfrozen(field, `${path}.${name}`);
    if (found !== null) return found;
  }
  return null;
}

/** A deep copy whose objects name their fields in the opposite order. */
function reversed(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(reversed);
  if (typeof value !== 'object' || value === null) return value;
  const fields = Object.entries(value).reverse();
  return Object.fromEntries(fields.map(([name, field]) => [name, reversed(field)]));
}
