/**
 * Exponents and powers of two in a graph, exactly: operator set 18 has no way to look at the bits of a float.
 */
import type { Value } from './builder.js';
import type { Operations } from './operations.js';

const LOWEST = -149;
const HIGHEST = 127;

/** floor(log2 value) of positive f32 values as int32: powers of two are taken out, the largest first. */
export function binaryExponent(o: Operations, value: Value): Value {
  let rest = value;
  let exponent = o.cast(o.multiply(value, 0), 'int32');
  const takeOut = (found: Value, power: number) => {
    rest = o.select(found, o.multiply(rest, 2 ** -power), rest);
    exponent = o.add(exponent, o.multiply(o.cast(found, 'int32'), power));
  };
  for (const power of [64, 32, 16, 8, 4, 2, 1]) takeOut(o.atLeast(rest, 2 ** power), power);
  for (const power of [64, 64, 32, 16, 8, 4, 2, 1]) takeOut(o.less(rest, 2 ** (1 - power)), -power);
  return exponent;
}

/** f32 powers of two of int32 exponents from -149 to 127. */
export function powerOfTwo(o: Operations, exponent: Value): Value {
  const powers = o.graph.constant(
    'float32',
    Array.from({ length: HIGHEST - LOWEST + 1 }, (_, i) => 2 ** (i + LOWEST)),
  );
  return o.gather(powers, o.subtract(exponent, LOWEST), 0);
}
