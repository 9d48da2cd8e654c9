/** Builds safetensors bytes by hand, valid or not. */

/** A file with this header text (a string is encoded as UTF-8) and these data. */
export function rawFile(header: string | Uint8Array, data: Uint8Array = new Uint8Array(0)) {
  const json = typeof header === 'string' ? new TextEncoder().encode(header) : header;
  const bytes = new Uint8Array(8 + json.length + data.length);
  new DataView(bytes.buffer).setBigUint64(0, BigInt(json.length), true);
  bytes.set(json, 8);
  bytes.set(data, 8 + json.length);
  return bytes;
}

/** Little-endian bytes of any typed array. */
export function bytesOf(view: ArrayBufferView): Uint8Array {
  return new Uint8Array(view.buffer, view.byteOffset, view.byteLength);
}

/** A file with one F32 tensor of one element, whose description may be replaced. */
export function oneTensor(description: string, data: Uint8Array = bytesOf(Float32Array.of(1))) {
  return rawFile(`{"k":${description}}`, data);
}

export interface TestTensor {
  readonly dtype: string;
  readonly shape: readonly number[];
  readonly data: ArrayBufferView;
}

/** A well-formed file of these tensors, in this order. Independent of the package's writer. */
export function safetensorsBytes(
  tensors: Readonly<Record<string, TestTensor>>,
  metadata: Readonly<Record<string, string>> = {},
): Uint8Array {
  const header: Record<string, unknown> = { __metadata__: metadata };
  const parts: Uint8Array[] = [];
  let begin = 0;
  for (const [name, { dtype, shape, data }] of Object.entries(tensors)) {
    const end = begin + data.byteLength;
    header[name] = { dtype, shape, data_offsets: [begin, end] };
    parts.push(bytesOf(data));
    begin = end;
  }
  return rawFile(JSON.stringify(header), Buffer.concat(parts));
}
