/**
 * The codec door: a scheme that the decode rule cannot express brings encode and decode of one group as functions.
 */

/**
 * Encode and decode of one group. The TypeScript functions are the law: pure, without state, and the same bytes for the
 * same values everywhere. Backends run the WGSL or CUDA text instead where there is one; without it they refuse, or emulate
 * when the caller allows it. The version is the promise that bytes have not changed: a plan does not look at the source.
 */
export interface GroupCodec {
  /** As in `quantizer.codes` and `quantizer.version` of the tensors that use it. */
  readonly id: string;
  readonly version: number;
  /** Elements of a group: the group size, or the head dim where groups are vectors. */
  readonly groupSize: number;
  /** Bytes of an encoded group, codes and parameters together. */
  readonly groupBytes: number;
  /**
   * Reads `groupSize` f32 values (after the transforms, in element order), writes all `groupBytes` bytes. Takes any values:
   * after a transform beyond the range of f16, with masked input NaN and infinities.
   */
  encodeGroup(values: Float32Array, bytes: Uint8Array): void;
  /** Reads `groupBytes` bytes, writes `groupSize` f32 values: finite ones for whatever `encodeGroup` has written. */
  decodeGroup(bytes: Uint8Array, values: Float32Array): void;
  /**
   * WGSL that defines `fn decodeGroup(firstByte: u32) -> array<f32, GROUP_SIZE>` and
   * `fn encodeGroup(values: array<f32, GROUP_SIZE>) -> array<u32, GROUP_WORDS>` (little endian, GROUP_BYTES used). It may
   * call `fn codecByte(offset: u32) -> u32`; the constants are defined before it. Backends put prefixes before the names it
   * declares, so that two codecs fit into one shader: no directives, and no member named like a declaration of the module.
   */
  readonly wgsl?: string;
  /**
   * CUDA C++ that defines `__device__ void decodeGroup(const unsigned char* bytes, float* values)` and
   * `__device__ void encodeGroup(const float* values, unsigned char* bytes)`; GROUP_SIZE and GROUP_BYTES are macros. Bytes lie at
   * any address; no operation is fused or approximate unless the text says so. Backends put it into a namespace: no #include.
   */
  readonly cuda?: string;
}
