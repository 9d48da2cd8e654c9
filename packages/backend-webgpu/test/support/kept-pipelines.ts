/**
 * The next backend on a device gets the pipelines of the one before: SwiftShader compiles a text once.
 */

export function keepPipelines(device: GPUDevice): void {
  const modules = new Map<string, GPUShaderModule>();
  const texts = new Map<GPUShaderModule, string>();
  const pipelines = new Map<string, Promise<GPUComputePipeline>>();
  const createModule = device.createShaderModule.bind(device);
  device.createShaderModule = (descriptor) => {
    const module = modules.get(descriptor.code) ?? createModule(descriptor);
    modules.set(descriptor.code, module);
    texts.set(module, descriptor.code);
    return module;
  };
  const createPipeline = device.createComputePipelineAsync.bind(device);
  device.createComputePipelineAsync = (descriptor) => {
    const { module, entryPoint } = descriptor.compute;
    const key = `${entryPoint}\n${texts.get(module)}`;
    const pipeline = pipelines.get(key) ?? createPipeline(descriptor);
    pipelines.set(key, pipeline);
    return pipeline;
  };
}
