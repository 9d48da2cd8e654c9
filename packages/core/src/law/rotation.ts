/**
 * The orthonormal Hadamard rotation and the signs before it, docs/law.md 7.
 */

/** Orthonormal Hadamard transform of `dim` values (a power of two) in place: the butterfly of strides 1, 2, 4, ..., then one multiply. */
export function hadamard(
  values: Float32Array | Float64Array,
  at: number,
  dim: number,
  factor: number,
): void {
  for (let stride = 1; stride < dim; stride *= 2) {
    for (let block = at; block < at + dim; block += 2 * stride) {
      for (let i = block; i < block + stride; i++) {
        const a = values[i] as number;
        const b = values[i + stride] as number;
        values[i] = a + b;
        values[i + stride] = a - b;
      }
    }
  }
  for (let i = at; i < at + dim; i++) values[i] = (values[i] as number) * factor;
}

/** 1 or -1 for each channel, the same in every head and layer: the top bit of a hash of seed and channel. */
export function rotationSigns(seed: number, headDim: number): Int8Array {
  return Int8Array.from({ length: headDim }, (_, channel) =>
    mix(seed + Math.imul(channel, 0x9e3779b9)) < 0 ? -1 : 1,
  );
}

/** The finaliser of MurmurHash3 (32 bit), as a signed integer. */
function mix(word: number): number {
  let hash = word | 0;
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return hash ^ (hash >>> 16);
}
