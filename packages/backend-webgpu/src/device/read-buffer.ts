/**
 * Reads ranges of a buffer back to the host.
 */
export interface ByteRange {
  readonly offset: number;
  /** A multiple of 4. */
  readonly size: number;
}

/** The ranges one after another, in an array of its own. */
export async function readBuffer(
  device: GPUDevice,
  buffer: GPUBuffer,
  ranges: readonly ByteRange[],
): Promise<Uint8Array> {
  const total = ranges.reduce((sum, { size }) => sum + size, 0);
  if (total === 0) return new Uint8Array(0);
  const staging = device.createBuffer({ label: 'lowbit-kv read-back', size: total, usage: 0x9 });
  const encoder = device.createCommandEncoder();
  let at = 0;
  for (const { offset, size } of ranges) {
    encoder.copyBufferToBuffer(buffer, offset, staging, at, size);
    at += size;
  }
  device.queue.submit([encoder.finish()]);
  try {
    await staging.mapAsync(1); // GPUMapMode.READ
    return new Uint8Array(staging.getMappedRange()).slice();
  } finally {
    staging.destroy();
  }
}
