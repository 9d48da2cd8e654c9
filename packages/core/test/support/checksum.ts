/** SHA-256 as Node computes it. */
import { createHash } from 'node:crypto';

export function checksum(bytes: Uint8Array): Uint8Array {
  return createHash('sha256').update(bytes).digest();
}
