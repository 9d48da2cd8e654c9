/**
 * The orthonormal Hadamard rotation over the last axis of `[rows, heads, headDim]`, headDim a power of two.
 */
import type { Value } from './builder.js';
import type { Operations } from './operations.js';

/**
 * f32: sums and differences of pairs, at strides 1, 2, 4, ..., then one factor. Each round takes neighbours, and puts sums
 * into the first half and differences into the second: that turns the bits of a channel's number by one place, so that
 * the next round finds its pairs side by side, and the last one leaves every channel in its own place.
 */
export function rotateByButterflies(o: Operations, tokens: Value, headDim: number): Value {
  // Channels in front: halves of them are contiguous.
  let channels = o.transpose(tokens, [2, 0, 1]);
  for (let stride = 1; stride < headDim; stride *= 2) {
    const even = o.slice(channels, 0, 0, headDim, 2);
    const odd = o.slice(channels, 0, 1, headDim, 2);
    channels = o.concat([o.add(even, odd), o.subtract(even, odd)], 0);
  }
  return o.multiply(o.transpose(channels, [1, 2, 0]), 1 / Math.sqrt(headDim));
}

/** f64: the product with the matrix, whose entry is negative where row and column number share an odd number of bits. */
export function rotateByMatrix(o: Operations, rows: Value, headDim: number): Value {
  const signs = Array.from({ length: headDim ** 2 }, (_, i) =>
    oddBits(Math.floor(i / headDim) & (i % headDim)) ? -1 : 1,
  );
  const matrix = o.cast(o.graph.constant('float32', signs, [headDim, headDim]), 'float64');
  return o.multiply(o.matrixProduct(rows, matrix), 1 / Math.sqrt(headDim));
}

/**
 * 1 or -1 for each channel: the top bit of MurmurHash3's finaliser over the seed plus a multiple of the channel's number,
 * in words of 32 bits.
 */
export function rotationSigns(seed: number, headDim: number): number[] {
  const word = (value: bigint) => BigInt.asUintN(32, value);
  return Array.from({ length: headDim }, (_, channel) => {
    let hash = word(BigInt(seed) + BigInt(channel) * 0x9e3779b9n);
    hash = word((hash ^ (hash >> 16n)) * 0x85ebca6bn);
    hash = word((hash ^ (hash >> 13n)) * 0xc2b2ae35n);
    // The shift of the last line cannot reach the top bit.
    return hash >> 31n === 1n ? -1 : 1;
  });
}

function oddBits(number: number): boolean {
  let odd = false;
  for (let rest = number; rest !== 0; rest &= rest - 1) odd = !odd;
  return odd;
}
