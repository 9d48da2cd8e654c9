/**
 * Records of finished work in a store: a SHA-256 of key and payload, then the payload. A key covers everything that the
 * payload depends on, so a record is never out of date, only unused.
 */
import { createHash } from 'node:crypto';
import { fingerprint } from '@lowbit-kv/core';
import type { PartStore } from './part-store.js';

/** Of the meaning of records: a new one makes older records unused. */
const RECORD_VERSION = 3;
const HASH_BYTES = 32;

export interface DamagedRecord {
  readonly key: string;
  readonly reason: string;
}

/** What a record is of: JSON. */
export type RecordIdentity = { readonly kind: string } & Readonly<Record<string, unknown>>;

/** How what is kept becomes bytes. */
export interface RecordCodec<T> {
  encode(value: T): Uint8Array;
  /** The value, or why there is none. */
  decode(payload: Uint8Array): { readonly value: T } | string;
}

export class Records {
  readonly #store: PartStore | undefined;
  readonly damaged: DamagedRecord[] = [];

  constructor(store: PartStore | undefined) {
    this.#store = store;
  }

  /** Null when there is no record, or a damaged one, which is noted. */
  async read<T>(identity: RecordIdentity, codec: RecordCodec<T>): Promise<T | null> {
    if (this.#store === undefined) return null;
    const key = keyOf(identity);
    const bytes = await this.#store.get(key);
    if (bytes === null) return null;
    const payload = Uint8Array.from(bytes.subarray(HASH_BYTES));
    const found = hashOf(key, payload).equals(bytes.subarray(0, HASH_BYTES))
      ? codec.decode(payload)
      : 'the checksum is wrong';
    if (typeof found !== 'string') return found.value;
    this.damaged.push({ key, reason: found });
    return null;
  }

  async write<T>(identity: RecordIdentity, value: T, codec: RecordCodec<T>): Promise<void> {
    if (this.#store === undefined) return;
    const key = keyOf(identity);
    const payload = codec.encode(value);
    await this.#store.put(key, Buffer.concat([hashOf(key, payload), payload]));
  }
}

function keyOf(identity: RecordIdentity): string {
  return fingerprint({ version: RECORD_VERSION, ...identity });
}

/** With the key, so that a record under another name is damaged too. */
function hashOf(key: string, bytes: Uint8Array): Buffer {
  return createHash('sha256').update(key).update(bytes).digest();
}
