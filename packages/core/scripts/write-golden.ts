/**
 * Writes golden files that do not exist yet. A file that exists and differs is an error: golden files never change.
 */
import { createHash } from 'node:crypto';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { GOLDEN_CASES, packGolden } from './golden-cases.js';
import { decodedSequences, snapshotCache, snapshotSequences } from './golden-snapshot.js';

const folder = fileURLToPath(new URL('../test/golden/', import.meta.url));

function write(name: string, bytes: Uint8Array): { file: string; bytes: number; sha256: string } {
  const path = `${folder}${name}`;
  if (!existsSync(path)) writeFileSync(path, bytes);
  else if (!readFileSync(path).equals(bytes)) throw new Error(`${name} exists and differs`);
  return {
    file: name,
    bytes: bytes.length,
    sha256: createHash('sha256').update(bytes).digest('hex'),
  };
}

/** Little-endian bytes of f32 values. */
function bytesOf(values: Float32Array): Uint8Array {
  const bytes = new Uint8Array(values.length * 4);
  const view = new DataView(bytes.buffer);
  for (const [i, value] of values.entries()) view.setFloat32(4 * i, value, true);
  return bytes;
}

const pages = [];
for (const golden of GOLDEN_CASES) {
  const { page, decoded } = await packGolden(golden);
  const files = {
    page: write(`${golden.name}.page.bin`, page),
    decoded: write(`${golden.name}.decoded.bin`, bytesOf(decoded)),
  };
  pages.push({ ...golden, ...files });
}
const cache = await snapshotCache();
const sequences = await snapshotSequences(cache);
const snapshot = {
  fingerprint: cache.plan.fingerprint,
  lengths: sequences.map((sequence) => sequence.length),
  container: write('snapshot.bin', await cache.snapshot(sequences)),
  decoded: write('snapshot.decoded.bin', bytesOf(await decodedSequences(cache, sequences))),
};
writeFileSync(`${folder}golden.json`, `${JSON.stringify({ pages, snapshot }, null, 1)}\n`);
console.log(`${pages.length} pages and one snapshot in ${folder}`);
