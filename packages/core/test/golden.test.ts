// Golden files: the reference backend writes the same bytes for ever, and reads the golden snapshot for ever.
import { readdirSync, readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { GOLDEN_CASES, packGolden } from '../scripts/golden-cases.js';
import {
  decodedSequences,
  snapshotCache,
  snapshotPlan,
  snapshotSequences,
} from '../scripts/golden-snapshot.js';

interface GoldenJson {
  readonly pages: readonly { readonly name: string; readonly page: { readonly file: string } }[];
  readonly snapshot: { readonly fingerprint: string; readonly lengths: readonly number[] };
}

const folder = new URL('golden/', import.meta.url);
const read = (name: string) => new Uint8Array(readFileSync(new URL(name, folder)));
const index = JSON.parse(readFileSync(new URL('golden.json', folder), 'utf8')) as GoldenJson;

function f32Of(bytes: Uint8Array): Float32Array {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  return Float32Array.from({ length: bytes.length / 4 }, (_, i) => view.getFloat32(4 * i, true));
}

describe('golden pages', () => {
  it('are the cases of the index, and every file belongs to one', () => {
    expect(index.pages.map(({ name }) => name)).toEqual(GOLDEN_CASES.map(({ name }) => name));
    const expected = GOLDEN_CASES.flatMap(({ name }) => [
      `${name}.page.bin`,
      `${name}.decoded.bin`,
    ]);
    const files = readdirSync(folder).filter((name) => name.endsWith('.bin'));
    expect(files.sort()).toEqual([...expected, 'snapshot.bin', 'snapshot.decoded.bin'].sort());
  });

  it.each(GOLDEN_CASES.map((golden) => [golden.name, golden] as const))(
    '%s',
    async (name, golden) => {
      const { page, decoded } = await packGolden(golden);
      expect(page).toEqual(read(`${name}.page.bin`));
      expect(decoded).toEqual(f32Of(read(`${name}.decoded.bin`)));
    },
  );

  it('hold both modes of hybrid groups, saturated and smallest scales', () => {
    const scales = (name: string, offset: number, count: number) => {
      const bytes = read(`${name}.page.bin`);
      const view = new DataView(bytes.buffer, bytes.byteOffset);
      return Array.from({ length: count }, (_, i) => view.getUint16(offset + 2 * i, true));
    };
    // Codes: 8 channels x 64 slots x 2 bits, then 2 groups x 8 channels.
    const hybrid = scales('hybrid-full-2bit-tokens', 128, 16).map((bits) => bits >> 15);
    expect(new Set(hybrid)).toEqual(new Set([0, 1]));
    const signmag = scales('hybrid-signmag-2bit-tokens', 128, 16).map((bits) => bits >> 15);
    expect(new Set(signmag)).toEqual(new Set([0, 1]));
    expect(scales('saturated-1bit-tokens', 64, 16)).toContain(0x7bff);
    // Codes: 16 slots x 20 bytes.
    expect(new Set(scales('smallest-scale-4bit-channels', 320, 22))).toEqual(new Set([0x0400]));
  });
});

describe('the golden snapshot', () => {
  const container = read('snapshot.bin');
  const decoded = f32Of(read('snapshot.decoded.bin'));

  it('belongs to the plan of today', () => {
    expect(snapshotPlan().fingerprint).toBe(index.snapshot.fingerprint);
  });

  it('restores to the recorded values, and is taken again byte for byte', async () => {
    const cache = await snapshotCache();
    const sequences = await cache.restore(container);
    expect(sequences.map(({ length }) => length)).toEqual(index.snapshot.lengths);
    expect(await decodedSequences(cache, sequences)).toEqual(decoded);
    expect(await cache.snapshot(sequences)).toEqual(container);
  });

  it('is what the reference backend makes today', async () => {
    const cache = await snapshotCache();
    const sequences = await snapshotSequences(cache);
    expect(await decodedSequences(cache, sequences)).toEqual(decoded);
    expect(await cache.snapshot(sequences)).toEqual(container);
  });
});
