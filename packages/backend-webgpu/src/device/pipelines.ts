/**
 * Compute pipelines and bind group layouts of a device, made once per shader text.
 */
import type { Program } from '../shaders/programs.js';

export interface Kernel {
  readonly pipeline: GPUComputePipeline;
  readonly layout: GPUBindGroupLayout;
}

/** Bytes of the uniform a dispatch is told its job by. */
export const JOB_BYTES = 16;

export class Pipelines {
  readonly #device: GPUDevice;
  readonly #kernels = new Map<string, Promise<Kernel>>();
  readonly #layouts = new Map<string, GPUBindGroupLayout>();
  readonly #modules = new Map<string, GPUShaderModule>();

  constructor(device: GPUDevice) {
    this.#device = device;
  }

  kernel(program: Program): Promise<Kernel> {
    const key = `${program.entryPoint}\n${program.code}`;
    let kernel = this.#kernels.get(key);
    if (kernel === undefined) {
      kernel = this.#create(program);
      this.#kernels.set(key, kernel);
      // What failed may succeed another time; whoever asked is told.
      kernel.catch(() => this.#kernels.delete(key));
    }
    return kernel;
  }

  async #create({ name, code, entryPoint, bindings }: Program): Promise<Kernel> {
    const layout = this.#layout(bindings);
    let module = this.#modules.get(code);
    if (module === undefined) {
      module = this.#device.createShaderModule({ label: name, code });
      this.#modules.set(code, module);
    }
    try {
      const pipeline = await this.#device.createComputePipelineAsync({
        label: name,
        layout: this.#device.createPipelineLayout({ bindGroupLayouts: [layout] }),
        compute: { module, entryPoint },
      });
      return { pipeline, layout };
    } catch (cause) {
      throw new Error(`shader ${name}: ${await messagesOf(module)}`, { cause });
    }
  }

  #layout(bindings: readonly ('read' | 'write')[]): GPUBindGroupLayout {
    const key = bindings.join();
    let layout = this.#layouts.get(key);
    if (layout === undefined) {
      const buffer = (type: GPUBufferBindingType, binding: number) => ({
        binding,
        visibility: 4, // GPUShaderStage.COMPUTE
        buffer: {
          type,
          ...(type === 'uniform' && { hasDynamicOffset: true, minBindingSize: JOB_BYTES }),
        },
      });
      layout = this.#device.createBindGroupLayout({
        entries: [
          buffer('uniform', 0),
          buffer('read-only-storage', 1),
          ...bindings.map((access, i) =>
            buffer(access === 'read' ? 'read-only-storage' : 'storage', i + 2),
          ),
        ],
      });
      this.#layouts.set(key, layout);
    }
    return layout;
  }
}

async function messagesOf(module: GPUShaderModule): Promise<string> {
  const { messages } = await module.getCompilationInfo();
  const lines = messages.map(({ lineNum, linePos, message }) => `${lineNum}:${linePos} ${message}`);
  return lines.join('; ') || 'the pipeline cannot be made';
}
