// Conversions and sums of the kernels' host side against core's.
import { f16ToF32, f32ToF16 } from '@lowbit-kv/core';
import { createDraws } from '@lowbit-kv/core/testing';
import { expect, test } from 'vitest';
import { buildHostProgram, compiler } from './support/pack/host-program.js';

const TERMS = 128;
const ROWS = 200;

test.skipIf(compiler === undefined)('conversions and sums are those of the law', () => {
  const draw = createDraws(5);
  const bits = new Uint32Array(ROWS * TERMS);
  const terms = new Float32Array(bits.buffer);
  for (let i = 0; i < bits.length; i++) {
    // Rows of any f32 around f16's range, half-way numbers among them, and rows of magnitudes that sum up.
    if (i < (ROWS * TERMS) / 2) {
      const exponent = 98 + (draw() % 48);
      const mantissa = draw() % 4 === 0 ? (draw() << 12) | 0x1000 : (draw() << 12) | draw();
      bits[i] = ((draw() & 1) << 31) | (exponent << 23) | (mantissa & 0x7fffff);
    } else terms[i] = (draw() + draw() / 4096) / 2 ** (draw() % 12);
  }
  const program = buildHostProgram('numbers-host.cpp');
  let words: Uint32Array;
  try {
    words = new Uint32Array(Uint8Array.from(program.run(new Uint8Array(bits.buffer))).buffer);
  } finally {
    program.remove();
  }
  const floats = new Float32Array(words.buffer);
  let leftToRight = 0;
  for (let row = 0; row < ROWS; row++) {
    const first = row * (TERMS + 3);
    const own = terms.subarray(row * TERMS, (row + 1) * TERMS);
    expect(words.subarray(first, first + TERMS)).toEqual(Uint32Array.from(own, f32ToF16));
    for (const [i, count] of [32, 64, 128].entries()) {
      const sum = floats[first + TERMS + i] as number;
      expect(sum).toBe(pairwise(own.slice(0, count)));
      if (own.slice(0, count).reduce((total, term) => Math.fround(total + term), 0) !== sum)
        leftToRight++;
    }
  }
  // The order of a sum can be seen in these terms.
  expect(leftToRight).toBeGreaterThan(ROWS);
  const values = words.subarray(ROWS * (TERMS + 3));
  const expected = Float32Array.from({ length: 65536 }, (_, half) => f16ToF32(half));
  for (let half = 0; half < 65536; half++) {
    const value = new Float32Array(values.buffer, values.byteOffset + 4 * half, 1)[0] as number;
    if (!Object.is(value, expected[half])) expect(value, half.toString(16)).toBe(expected[half]);
  }
});

/** Core's tree: neighbours, level by level. */
function pairwise(terms: Float32Array): number {
  let level = terms;
  while (level.length > 1) {
    const { length } = level;
    level = Float32Array.from({ length: length / 2 }, (_, i) => level[2 * i]! + level[2 * i + 1]!);
  }
  return level[0] as number;
}
