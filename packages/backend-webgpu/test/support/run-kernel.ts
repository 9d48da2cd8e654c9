/**
 * Runs the kernel of a shader once, over words that it reads.
 */
export interface KernelRun {
  readonly code: string;
  /** Storage that is read, from binding 0 on; the results are the binding after them. */
  readonly inputs: readonly Uint32Array[];
  /** Of the results. */
  readonly bytes: number;
  readonly workgroups: readonly [x: number, y?: number];
}

export async function runKernel(
  device: GPUDevice,
  { code, inputs, bytes, workgroups }: KernelRun,
): Promise<ArrayBuffer> {
  const pipeline = await device.createComputePipelineAsync({
    layout: 'auto',
    compute: { module: device.createShaderModule({ code }) },
  });
  const results = device.createBuffer({ size: bytes, usage: 0x84 }); // STORAGE | COPY_SRC
  const staging = device.createBuffer({ size: bytes, usage: 0x9 }); // MAP_READ | COPY_DST
  const buffers = [
    ...inputs.map((words) => {
      const buffer = device.createBuffer({ size: words.byteLength, usage: 0x88 }); // STORAGE | COPY_DST
      device.queue.writeBuffer(buffer, 0, words as Uint32Array<ArrayBuffer>);
      return buffer;
    }),
    results,
  ];
  const encoder = device.createCommandEncoder();
  const pass = encoder.beginComputePass();
  pass.setPipeline(pipeline);
  pass.setBindGroup(
    0,
    device.createBindGroup({
      layout: pipeline.getBindGroupLayout(0),
      entries: buffers.map((buffer, binding) => ({ binding, resource: { buffer } })),
    }),
  );
  pass.dispatchWorkgroups(...workgroups);
  pass.end();
  encoder.copyBufferToBuffer(results, 0, staging, 0, bytes);
  device.queue.submit([encoder.finish()]);
  await staging.mapAsync(0x1); // READ
  const copy = staging.getMappedRange().slice(0);
  for (const buffer of [...buffers, staging]) buffer.destroy();
  return copy;
}
