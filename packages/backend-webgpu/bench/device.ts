/**
 * The GPU of this machine through dawn, with the largest limits and every feature that shaders here can use.
 */
export async function openDevice(toggles: readonly string[] = []): Promise<{
  readonly device: GPUDevice;
  readonly languageFeatures: ReadonlySet<string>;
}> {
  const { create, globals } = await import('webgpu');
  Object.assign(globalThis, globals);
  const gpu = create([
    `enable-dawn-features=${['vulkan_enable_f16_on_nvidia', 'allow_unsafe_apis', ...toggles].join()}`,
    'disable-dawn-features=timestamp_quantization',
  ]);
  // The instance must stay referenced.
  Object.assign(globalThis, { lowbitKvGpu: gpu });
  const adapter = await gpu.requestAdapter({ powerPreference: 'high-performance' });
  if (adapter === null) throw new Error('dawn finds no adapter');
  const wanted = ['subgroups', 'shader-f16', 'timestamp-query'] as GPUFeatureName[];
  const device = await adapter.requestDevice({
    requiredFeatures: wanted.filter((feature) => adapter.features.has(feature)),
    requiredLimits: {
      maxBufferSize: adapter.limits.maxBufferSize,
      maxStorageBufferBindingSize: adapter.limits.maxStorageBufferBindingSize,
      maxComputeWorkgroupStorageSize: adapter.limits.maxComputeWorkgroupStorageSize,
    },
  });
  const { vendor, architecture, description, subgroupMinSize, subgroupMaxSize } =
    device.adapterInfo;
  console.log(
    `adapter: ${vendor} ${architecture} ${description}, subgroups ${subgroupMinSize} to ${subgroupMaxSize}, features ${[...device.features].join(' ')}`,
  );
  return { device, languageFeatures: gpu.wgslLanguageFeatures };
}
