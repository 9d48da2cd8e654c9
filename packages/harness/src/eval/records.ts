/**
 * Records of finished work in a store: a SHA-256 of key and numbers, then the numbers as float64 in the machine's byte
 * order. A key covers everything that the numbers depend on, so a record is never out of date, only unused.
 */
import { createHash } from 'node:crypto';
import { endianness } from 'node:os';
import { fingerprint } from '@lowbit-kv/core';
import type { EvalStore } from './store.js';

/** Of the meaning of records: a new one makes older records unused. */
const RECORD_VERSION = 2;
const HASH_BYTES = 32;

export interface DamagedRecord {
  readonly key: string;
  readonly reason: string;
}

/** What a record is of. */
export interface RecordIdentity {
  readonly kind: 'window' | 'retrieval';
  /** Fingerprint of the model. */
  readonly model: string;
  /** Fingerprint of the plan, calibration included. */
  readonly plan: string;
  /** Hash of the tokens that were run. */
  readonly tokens: string;
  readonly settings: Readonly<Record<string, string>>;
}

export class Records {
  readonly #store: EvalStore | undefined;
  readonly damaged: DamagedRecord[] = [];

  constructor(store: EvalStore | undefined) {
    this.#store = store;
  }

  /** The `count` numbers of a record; null when there is none, or a damaged one, which is noted. */
  async read(identity: RecordIdentity, count: number): Promise<Float64Array | null> {
    if (this.#store === undefined) return null;
    const key = keyOf(identity);
    const bytes = await this.#store.get(key);
    if (bytes === null) return null;
    const numbers = decode(key, bytes, count);
    if (typeof numbers !== 'string') return numbers;
    this.damaged.push({ key, reason: numbers });
    return null;
  }

  async write(identity: RecordIdentity, numbers: Float64Array): Promise<void> {
    const key = keyOf(identity);
    await this.#store?.put(key, encode(key, numbers));
  }
}

function keyOf(identity: RecordIdentity): string {
  return fingerprint({ version: RECORD_VERSION, endianness: endianness(), ...identity });
}

function encode(key: string, numbers: Float64Array): Uint8Array {
  const payload = new Uint8Array(numbers.buffer, numbers.byteOffset, numbers.byteLength);
  const bytes = new Uint8Array(HASH_BYTES + payload.length);
  bytes.set(hashOf(key, payload));
  bytes.set(payload, HASH_BYTES);
  return bytes;
}

/** The numbers, or why there are none. */
function decode(key: string, bytes: Uint8Array, count: number): Float64Array | string {
  const expected = HASH_BYTES + count * Float64Array.BYTES_PER_ELEMENT;
  if (bytes.length !== expected) return `${bytes.length} bytes in place of ${expected}`;
  const payload = Uint8Array.from(bytes.subarray(HASH_BYTES));
  if (!hashOf(key, payload).equals(bytes.subarray(0, HASH_BYTES))) return 'the checksum is wrong';
  return new Float64Array(payload.buffer);
}

/** With the key, so that a record under another name is damaged too. */
function hashOf(key: string, bytes: Uint8Array): Buffer {
  return createHash('sha256').update(key).update(bytes).digest();
}
