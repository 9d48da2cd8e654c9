/**
 * Reads fixtures/golden: safetensors files and JSON rows that hold what the scheme authors' code computed.
 */
import { readFileSync } from 'node:fs';
import { f16ToF32 } from '../../src/index.js';

const folder = new URL('../../../../fixtures/golden/', import.meta.url);

interface HeaderEntry {
  readonly dtype: 'F16' | 'F32' | 'I32' | 'U8' | 'I8';
  readonly shape: readonly number[];
  readonly data_offsets: readonly [number, number];
}

export type GoldenData = Uint16Array | Float32Array | Int32Array | Uint8Array | Int8Array;

export class GoldenFile {
  readonly #header: Readonly<Record<string, HeaderEntry>>;
  readonly #metadata: Readonly<Record<string, string>>;
  readonly #data: Uint8Array;

  constructor(name: 'kivi' | 'innerq' | 'oaken') {
    const file = readFileSync(new URL(`${name}.safetensors`, folder));
    const length = Number(file.readBigUInt64LE(0));
    const { __metadata__, ...header } = JSON.parse(file.toString('utf8', 8, 8 + length));
    this.#header = header;
    this.#metadata = __metadata__;
    this.#data = file.subarray(8 + length);
  }

  /** A list of the header, for example `cases`. */
  list<Entry>(name: string): Entry[] {
    const text = this.#metadata[name];
    if (text === undefined) throw new Error(`the golden file has no list '${name}'`);
    return JSON.parse(text) as Entry[];
  }

  has(name: string): boolean {
    return name in this.#header;
  }

  shape(name: string): readonly number[] {
    return this.#entry(name).shape;
  }

  u8(name: string): Uint8Array {
    return this.#bytes(name, 'U8');
  }

  i8(name: string): Int8Array {
    return new Int8Array(this.#bytes(name, 'I8').buffer);
  }

  i32(name: string): Int32Array {
    return new Int32Array(this.#bytes(name, 'I32').buffer);
  }

  f32(name: string): Float32Array {
    return new Float32Array(this.#bytes(name, 'F32').buffer);
  }

  /** Bits. */
  f16(name: string): Uint16Array {
    return new Uint16Array(this.#bytes(name, 'F16').buffer);
  }

  f16Values(name: string): Float32Array {
    return Float32Array.from(this.f16(name), f16ToF32);
  }

  #entry(name: string): HeaderEntry {
    const entry = this.#header[name];
    if (entry === undefined) throw new Error(`the golden file has no tensor '${name}'`);
    return entry;
  }

  /** A copy that owns its buffer. */
  #bytes(name: string, dtype: HeaderEntry['dtype']): Uint8Array<ArrayBuffer> {
    const entry = this.#entry(name);
    if (entry.dtype !== dtype) throw new Error(`'${name}' is ${entry.dtype}, not ${dtype}`);
    return new Uint8Array(this.#data.subarray(...entry.data_offsets));
  }
}

export interface CacheRows {
  readonly columns: readonly string[];
  readonly cases: readonly (Record<string, unknown> & { readonly rows: readonly number[][] })[];
}

export function readCacheRows(name: 'kivi' | 'innerq'): CacheRows {
  return JSON.parse(readFileSync(new URL(`${name}-cache.json`, folder), 'utf8')) as CacheRows;
}

/** What an independent program counted when it compared the normative arithmetic with the originals, by case. */
export function readCounts<Counts extends { readonly key: string }>(name: string) {
  const index = JSON.parse(readFileSync(new URL('index.json', folder), 'utf8')) as {
    readonly comparison: Readonly<Record<string, readonly Counts[]>>;
  };
  const entries = index.comparison[name] ?? [];
  return (key: string): Counts => {
    const found = entries.find((entry) => entry.key === key);
    if (found === undefined) throw new Error(`the index does not count '${key}'`);
    return found;
  };
}

/** Elements of `actual` that differ in value; NaN equals NaN and -0 equals +0. */
export function countDifferent(actual: ArrayLike<number>, expected: ArrayLike<number>): number {
  if (actual.length !== expected.length) {
    throw new Error(`${actual.length} elements instead of ${expected.length}`);
  }
  let different = 0;
  for (let i = 0; i < expected.length; i++) {
    const [a, b] = [actual[i] as number, expected[i] as number];
    if (a !== b && !(Number.isNaN(a) && Number.isNaN(b))) different++;
  }
  return different;
}
