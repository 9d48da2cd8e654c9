/**
 * A device whose kernels hold several faults, at most one of which is on: SwiftShader compiles a kernel once for all of them.
 */
import { keepPipelines } from './kept-pipelines.js';
import { swiftShaderDevice } from './swiftshader.js';

/**
 * `from` and `to` are expressions, or statements with their semicolons; or `to` says itself what is when the fault IS_ON.
 */
export interface SwitchedFault {
  /** Label of the kernel. Kernels of one text share a module, which has the name of the first. */
  readonly kernel: string;
  readonly from: string;
  readonly to: string;
}

export class SwitchedFaults<Name extends string> {
  readonly device: GPUDevice;
  readonly #names: readonly Name[];
  readonly #number: GPUBuffer;
  /** Faults that a shader contains. */
  readonly #found = new Set<Name>();

  private constructor(device: GPUDevice, faults: Readonly<Record<Name, SwitchedFault>>) {
    this.device = device;
    this.#names = Object.keys(faults) as Name[];
    this.#number = device.createBuffer({ size: 16, usage: 0x48 }); // UNIFORM | COPY_DST
    this.#putFaultsIn(faults);
    this.#bindNumber();
    keepPipelines(device);
  }

  static async open<Name extends string>(
    faults: Readonly<Record<Name, SwitchedFault>>,
    open: () => Promise<GPUDevice> = swiftShaderDevice,
  ): Promise<SwitchedFaults<Name>> {
    return new SwitchedFaults(await open(), faults);
  }

  /** What `run` throws with this fault, or with none, as text; `passed` when it throws nothing. */
  async outcome(name: Name | null, run: (device: GPUDevice) => Promise<unknown>): Promise<string> {
    const number = name === null ? 0 : this.#names.indexOf(name) + 1;
    this.device.queue.writeBuffer(this.#number, 0, Uint32Array.of(number, 0, 0, 0));
    let outcome = 'passed';
    try {
      await run(this.device);
    } catch (error) {
      outcome = String(error);
    }
    if (name !== null && !this.#found.has(name)) throw new Error(`no shader contains ${name}`);
    return outcome;
  }

  #putFaultsIn(faults: Readonly<Record<Name, SwitchedFault>>): void {
    const { device } = this;
    const create = device.createShaderModule.bind(device);
    device.createShaderModule = (descriptor) => {
      let { code } = descriptor;
      for (const [i, name] of this.#names.entries()) {
        const { kernel, from, to } = faults[name];
        if (kernel !== descriptor.label || !code.includes(from)) continue;
        code = code.replaceAll(from, switched(from, to, `fault_number.x == ${i + 1}u`));
        this.#found.add(name);
      }
      if (code === descriptor.code) return create(descriptor);
      const number = '@group(1) @binding(0) var<uniform> fault_number: vec4<u32>;';
      return create({ ...descriptor, code: `${code}\n${number}\n` });
    };
  }

  /** As a second bind group of every pipeline. */
  #bindNumber(): void {
    const { device } = this;
    const layout = device.createBindGroupLayout({
      entries: [{ binding: 0, visibility: 4, buffer: { type: 'uniform' } }],
    });
    const group = device.createBindGroup({
      layout,
      entries: [{ binding: 0, resource: { buffer: this.#number } }],
    });
    const createLayout = device.createPipelineLayout.bind(device);
    device.createPipelineLayout = ({ bindGroupLayouts }) =>
      createLayout({ bindGroupLayouts: [...bindGroupLayouts, layout] });
    const createEncoder = device.createCommandEncoder.bind(device);
    device.createCommandEncoder = (descriptor) => {
      const encoder = createEncoder(descriptor);
      const begin = encoder.beginComputePass.bind(encoder);
      encoder.beginComputePass = (pass) => {
        const begun = begin(pass);
        begun.setBindGroup(1, group);
        return begun;
      };
      return encoder;
    };
  }
}

function switched(from: string, to: string, isOn: string): string {
  if (to.includes('IS_ON')) return to.replaceAll('IS_ON', isOn);
  return from.endsWith(';')
    ? `if (${isOn}) { ${to} } else { ${from} }`
    : `select((${from}), (${to}), ${isOn})`;
}
