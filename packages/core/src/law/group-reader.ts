/**
 * Reads what a group stores beside its codes: everything that `levels[code] * scale + zero` needs.
 */
import { type BlockLayout, PARAMETER_BYTES, type ParameterName } from '../plan/layout.js';
import type { QuantizedTensorScheme } from '../scheme.js';
import type { PackedTensorPlan } from './encode.js';
import { levelsOf } from './levels.js';
import { readNumber } from './page-bytes.js';
import { parameterValue, SCALE_SIGN } from './parameters.js';

/** Reads the parameters of one group of a head after another. */
export class GroupReader {
  /** Of the group read last. */
  levels: Float32Array;
  scale = 1;
  zero = 0;
  /** Whether `levels[code] * scale` needs no rounding of its own: it is exact, or nothing is added to it. */
  readonly exactProducts: boolean;
  readonly #page: Uint8Array;
  readonly #scales: Plane | null;
  readonly #zeros: Plane | null;
  readonly #plain: Float32Array;
  /** Levels of groups whose scale has its sign bit set, in hybrid tensors. */
  readonly #asymmetric: Float32Array | null;
  readonly #signBit: number;

  constructor({ layout, scheme }: PackedTensorPlan, page: Uint8Array, head: number) {
    const base = head * layout.headBytes;
    const { quantizer, bits, parameters } = scheme;
    const unsigned = Float32Array.from({ length: 2 ** bits }, (_, code) => code);
    this.#page = page;
    this.#scales = planeOf(layout, 'scale', base);
    this.#zeros = planeOf(layout, 'zero', base);
    this.#plain = plainLevels(scheme, unsigned);
    this.#asymmetric = quantizer.mode === 'hybrid' ? unsigned : null;
    this.#signBit = SCALE_SIGN[parameters.scale ?? 'f16'];
    this.levels = this.#plain;
    this.exactProducts =
      this.#zeros === null || (parameters.scale === 'f16' && typeof quantizer.codes !== 'object');
  }

  read(group: number): void {
    const scales = this.#scales;
    const zeros = this.#zeros;
    if (scales !== null) {
      const bits = readNumber(this.#page, scales.offset + group * scales.bytes, scales.bytes);
      const asymmetric = this.#asymmetric !== null && (bits & this.#signBit) !== 0;
      this.levels = asymmetric ? (this.#asymmetric as Float32Array) : this.#plain;
      this.scale = scales.value(asymmetric ? bits & ~this.#signBit : bits);
    }
    if (zeros !== null)
      this.zero = zeros.value(
        readNumber(this.#page, zeros.offset + group * zeros.bytes, zeros.bytes),
      );
  }
}

interface Plane {
  /** Of the entry of group 0. */
  readonly offset: number;
  readonly bytes: number;
  readonly value: (bits: number) => number;
}

function planeOf(layout: BlockLayout, name: ParameterName, base: number): Plane | null {
  const plane = layout.parameters.find((candidate) => candidate.name === name);
  if (plane === undefined) return null;
  const { offset, type } = plane;
  return { offset: base + offset, bytes: PARAMETER_BYTES[type], value: parameterValue(type) };
}

function plainLevels(
  { quantizer, bits }: QuantizedTensorScheme,
  unsigned: Float32Array,
): Float32Array {
  if (typeof quantizer.codes === 'object') return levelsOf(quantizer.codes);
  if (quantizer.mode === 'asymmetric') return unsigned;
  const half = 2 ** (bits - 1);
  return unsigned.map((code) => (code < half ? code : code - 2 * half));
}
