/** The element types of safetensors and their sizes. */

/** Bits of one element, by the name used in the header. */
const BITS = {
  BOOL: 8,
  F4: 4,
  F6_E2M3: 6,
  F6_E3M2: 6,
  F8_E4M3: 8,
  F8_E4M3FNUZ: 8,
  F8_E5M2: 8,
  F8_E5M2FNUZ: 8,
  F8_E8M0: 8,
  U8: 8,
  I8: 8,
  U16: 16,
  I16: 16,
  F16: 16,
  BF16: 16,
  U32: 32,
  I32: 32,
  F32: 32,
  U64: 64,
  I64: 64,
  F64: 64,
  C64: 64,
} as const;

export type SafetensorsDtype = keyof typeof BITS;

export const SAFETENSORS_DTYPES = Object.freeze(Object.keys(BITS)) as readonly SafetensorsDtype[];

export function isSafetensorsDtype(name: string): name is SafetensorsDtype {
  return Object.hasOwn(BITS, name);
}

export function bitsPerElement(dtype: SafetensorsDtype): number {
  return BITS[dtype];
}

/** Elements of a shape; undefined when the product cannot be held exactly. */
export function elementCount(shape: readonly number[]): number | undefined {
  if (shape.includes(0)) return 0;
  let product = 1;
  for (const dimension of shape) {
    product *= dimension;
    if (product > Number.MAX_SAFE_INTEGER) return undefined;
  }
  return product;
}

/** Bytes of a tensor; undefined when too large to be exact or when it does not fill whole bytes. */
export function tensorByteLength(
  dtype: SafetensorsDtype,
  shape: readonly number[],
): number | undefined {
  const elements = elementCount(shape);
  if (elements === undefined) return undefined;
  const bits = elements * bitsPerElement(dtype);
  return bits <= Number.MAX_SAFE_INTEGER && bits % 8 === 0 ? bits / 8 : undefined;
}
