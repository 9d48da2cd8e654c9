/**
 * The codecs of a scheme, group by group: the same bytes for the same values, nothing written beside them, finite values
 * back. How much a codec may lose is checked where all schemes are: on packed tokens.
 */
import type { GroupCodec } from '../codec.js';
import { decodeF16, F16_MAX } from '../float16.js';
import type { Scheme, TensorScheme } from '../scheme.js';
import { createDraws } from '../testing/draws.js';
import { lcgNormal } from '../testing/normal.js';
import { type ContractCheck, check, ensure, ensureEqual, ensureSame } from './check.js';
import { CORNERS, cornerTensor } from './numeric-corners.js';

/** Bytes, or values, on each side of a group that a codec must leave alone. */
const GUARD = 16;

/** `mayOverflow`: see SchemeContractOptions. */
export function codecChecks(scheme: Scheme, mayOverflow = false): ContractCheck[] {
  const codecs = scheme.codecs ?? [];
  const named = namedCodecs(scheme);
  if (codecs.length === 0 && named.length === 0) return [];
  return [
    check('brings the codecs that it names, and no others', async () => {
      const brought = codecs.map(({ id, version }) => `${id}, version ${version}`);
      ensureEqual([...brought].sort(), [...named].sort(), 'codecs');
    }),
    ...codecs.map((codec) =>
      check(`codec ${codec.id}: pure, inside its bytes, finite`, async () =>
        checkCodec(codec, mayOverflow),
      ),
    ),
  ];
}

function namedCodecs({ key, value, overrides = [] }: Scheme): string[] {
  const tensors = [key, value, ...overrides.flatMap((entry) => [entry.key, entry.value])];
  const names = tensors.map((tensor: TensorScheme | undefined) => {
    if (tensor === undefined || tensor.bits === 16) return null;
    const { quantizer } = tensor;
    return quantizer.mode === 'codec' ? `${quantizer.codes}, version ${quantizer.version}` : null;
  });
  return [...new Set(names.filter((name) => name !== null))];
}

function checkCodec(codec: GroupCodec, mayOverflow: boolean): void {
  const groups = groupsFor(codec.groupSize);
  const first = groups.map(({ name, values }) => encodeGuarded(codec, values, 0, name));
  // Once more in the opposite order, over other bytes: nothing may be left of earlier calls, or not written.
  for (const [i, { name, values }] of [...groups.entries()].reverse()) {
    const again = encodeGuarded(codec, values, 0xff, name);
    ensureSame(again, first[i] as Uint8Array, `bytes of a second call, ${name}`);
  }
  for (const [i, { name, values }] of groups.entries()) {
    const bytes = first[i] as Uint8Array;
    const decoded = decodeGuarded(codec, bytes, 0, name);
    const bad = decoded.find((value) => !Number.isFinite(value));
    const excused = mayOverflow && !(Math.max(...values) - Math.min(...values) <= F16_MAX);
    ensure(bad === undefined || excused, `${name} decodes to ${bad}`);
    ensureSame(decodeGuarded(codec, bytes, Number.NaN, name), decoded, `decoded twice, ${name}`);
  }
}

/** Bytes of one group, written between guards of `fill`. */
function encodeGuarded(
  codec: GroupCodec,
  values: Float32Array,
  fill: number,
  name: string,
): Uint8Array {
  const { groupBytes } = codec;
  const all = new Uint8Array(groupBytes + 2 * GUARD).fill(fill);
  const given = values.slice();
  codec.encodeGroup(given, all.subarray(GUARD, GUARD + groupBytes));
  ensureSame(given, values, `values after encodeGroup, ${name}`);
  return guarded(all, groupBytes, fill, `encodeGroup, ${name}`) as Uint8Array;
}

function decodeGuarded(
  codec: GroupCodec,
  bytes: Uint8Array,
  fill: number,
  name: string,
): Float32Array {
  const { groupSize } = codec;
  const all = new Float32Array(groupSize + 2 * GUARD).fill(fill);
  const given = bytes.slice();
  codec.decodeGroup(given, all.subarray(GUARD, GUARD + groupSize));
  ensureSame(given, bytes, `bytes after decodeGroup, ${name}`);
  return guarded(all, groupSize, fill, `decodeGroup, ${name}`) as Float32Array;
}

/** What lies between the guards, which must be as they were. */
function guarded<T extends Uint8Array | Float32Array>(
  all: T,
  length: number,
  fill: number,
  what: string,
): T {
  const written = [...all].findIndex(
    (value, i) => (i < GUARD || i >= GUARD + length) && !Object.is(value, fill),
  );
  ensure(written < 0, `${what} wrote at ${written - GUARD} of 0 to ${length - 1}`);
  return all.subarray(GUARD, GUARD + length) as T;
}

interface Group {
  readonly name: string;
  readonly values: Float32Array;
}

/** Ordinary groups, the corners of f16, and what transforms and masked input can make. */
function groupsFor(size: number): Group[] {
  const normal = Array.from({ length: 8 }, (_, i) => ({
    name: `normal group ${i}`,
    values: Float32Array.from(
      decodeF16(lcgNormal({ seed: 40 + i, shape: [size], dtype: 'f16' })),
      (value) => value * 2 ** (3 * i - 12),
    ),
  }));
  const corners = Object.entries(CORNERS).map(([name, corner]) => ({
    name,
    values: decodeF16(cornerTensor(corner, [size], 21).data as Uint16Array),
  }));
  const draw = createDraws(77);
  const drawn = (name: string, choices: readonly number[]) => ({
    name,
    values: Float32Array.from({ length: size }, () => choices[draw() % choices.length] as number),
  });
  return [
    ...normal,
    ...corners,
    drawn('the largest f16 numbers', [65504, -65504]),
    drawn('values beyond f16', [1e6, -3e5, 1.5, -2.25]),
    drawn('NaN and infinities among numbers', [Number.NaN, Infinity, -Infinity, 0.5, -1.25]),
    drawn('nothing but NaN', [Number.NaN]),
  ];
}
