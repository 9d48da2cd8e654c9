/**
 * Rounds K and V to f16 once and refuses values that f16 cannot hold, before anything is stored.
 */
import { LowbitKvError } from '../errors.js';
import { isFiniteF16 } from '../float16.js';
import { f16Tensor, type HostTensor, toF16Bits } from '../tensor.js';

interface RowRun {
  readonly sequence: number;
  readonly position: number;
  readonly count: number;
}

/** A copy of the tensor as f16, `[rows, heads, dim]`: attention reads it until `commit`. With `error`, throws NON_FINITE naming the first bad element. */
export function checkedBits(
  name: 'key' | 'value',
  tensor: HostTensor,
  layer: number,
  rows: readonly RowRun[],
  nonFinite: 'error' | 'mask',
): HostTensor {
  const converted = toF16Bits(tensor);
  const bits = converted === tensor.data ? converted.slice() : converted;
  const bad = nonFinite === 'error' ? firstNonFinite(bits) : -1;
  if (bad >= 0) refuse(name, tensor, layer, rows, bad);
  return f16Tensor(bits, tensor.shape);
}

function firstNonFinite(bits: Uint16Array): number {
  for (let i = 0; i < bits.length; i++) if (!isFiniteF16(bits[i] as number)) return i;
  return -1;
}

function refuse(
  name: string,
  tensor: HostTensor,
  layer: number,
  rows: readonly RowRun[],
  index: number,
): never {
  const [, heads, dim] = tensor.shape as [number, number, number];
  const value =
    tensor.type === 'f32'
      ? (tensor.data[index] as number)
      : `bits 0x${(tensor.data[index] as number).toString(16)}`;
  let row = Math.floor(index / (heads * dim));
  const run = rows.find(({ count }) => {
    if (row < count) return true;
    row -= count;
    return false;
  });
  throw new LowbitKvError('NON_FINITE', {
    message: 'a value is not finite in f16',
    value,
    valid: 'finite numbers up to 65504 in magnitude',
    next: "Look for an overflow upstream; nonFinite: 'mask' stores the rest and leaves this value undefined.",
    where: {
      tensor: name,
      layer,
      sequence: run?.sequence ?? 0,
      head: Math.floor(index / dim) % heads,
      token: (run?.position ?? 0) + row,
      channel: index % dim,
    },
  });
}
