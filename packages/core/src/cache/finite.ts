/**
 * Rounds K and V to f16 once and refuses values that f16 cannot hold, before anything is stored.
 */
import type { AppendJob } from '../backend.js';
import { nonFiniteError } from '../data-faults.js';
import { isFiniteF16 } from '../float16.js';
import { f16Tensor, type HostTensor, toF16Bits } from '../tensor.js';

/** A copy of the tensor as f16, `[rows, heads, dim]`: attention reads it until `commit`. With `error`, throws NON_FINITE naming the first bad element. */
export function checkedBits(
  name: 'key' | 'value',
  tensor: HostTensor,
  layer: number,
  rows: AppendJob['rows'],
  nonFinite: 'error' | 'mask',
): HostTensor {
  const converted = toF16Bits(tensor);
  const bits = converted === tensor.data ? converted.slice() : converted;
  const element = nonFinite === 'error' ? firstNonFinite(bits) : -1;
  if (element >= 0) {
    const { shape, type, data } = tensor;
    const given = data[element] as number;
    const value = type === 'f32' ? given : `bits 0x${given.toString(16)}`;
    throw nonFiniteError({ tensor: name, layer, rows, shape, element, value });
  }
  return f16Tensor(bits, tensor.shape);
}

function firstNonFinite(bits: Uint16Array): number {
  for (let i = 0; i < bits.length; i++) if (!isFiniteF16(bits[i] as number)) return i;
  return -1;
}
