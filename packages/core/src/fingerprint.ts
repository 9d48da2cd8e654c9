/**
 * Fingerprints: SHA-256 of canonical JSON.
 */
import { sha256 } from '@noble/hashes/sha2.js';
import { bytesToHex } from '@noble/hashes/utils.js';
import type { Pause } from './pause.js';

/** Bytes that are hashed without a pause: some tens of milliseconds. */
const HASHED_AT_ONCE = 2 ** 22;

/** SHA-256 of many bytes, with a pause before each part. */
export async function pausedChecksum(bytes: Uint8Array, pause: Pause): Promise<Uint8Array> {
  const hash = sha256.create();
  for (let at = 0; at < bytes.length; at += HASHED_AT_ONCE) {
    await pause();
    hash.update(bytes.subarray(at, at + HASHED_AT_ONCE));
  }
  return hash.digest();
}

/** Hex SHA-256 of the canonical JSON of a value: object keys sorted, undefined fields left out. */
export function fingerprint(value: unknown): string {
  return bytesToHex(sha256(new TextEncoder().encode(canonicalJson(value))));
}

/** JSON with sorted object keys, so that equal data give equal text. */
export function canonicalJson(value: unknown): string {
  if (Array.isArray(value))
    return `[${value.map((item) => canonicalJson(item ?? null)).join(',')}]`;
  if (typeof value !== 'object' || value === null) return JSON.stringify(value) ?? 'null';
  const entries = Object.entries(value).filter(
    ([, item]) => item !== undefined && typeof item !== 'function',
  );
  entries.sort(([a], [b]) => (a < b ? -1 : 1));
  return `{${entries.map(([key, item]) => `${JSON.stringify(key)}:${canonicalJson(item)}`).join(',')}}`;
}
