/**
 * Changes of safetensors files: of the header's JSON with a length that fits or lies, of the data, of the bytes.
 */
import type { Random } from '../random.js';
import { joined, mutateBytes } from './bytes.js';
import { mutateJson } from './json.js';

const PREFIX = 8;
const LENGTHS = [0n, 1n, 2n, 100_000_001n, 2n ** 32n, 2n ** 53n, 2n ** 63n, 2n ** 64n - 1n];

export function mutateSafetensors(random: Random, file: Uint8Array): Uint8Array {
  if (random.chance(0.15)) return mutateBytes(random, file);
  const { header, data } = partsOf(file);
  const json = mutateJson(random, JSON.parse(new TextDecoder().decode(header)));
  const lie = random.chance(0.1);
  const length = lie ? random.pick([...LENGTHS, BigInt(json.length + 1)]) : BigInt(json.length);
  const prefix = new Uint8Array(PREFIX);
  new DataView(prefix.buffer).setBigUint64(0, length, !random.chance(0.02));
  return joined(prefix, json, random.chance(0.1) ? mutateBytes(random, data) : data);
}

export function partsOf(file: Uint8Array): {
  readonly header: Uint8Array;
  readonly data: Uint8Array;
} {
  const view = new DataView(file.buffer, file.byteOffset, file.byteLength);
  const end = PREFIX + Number(view.getBigUint64(0, true));
  return { header: file.subarray(PREFIX, end), data: file.subarray(end) };
}
