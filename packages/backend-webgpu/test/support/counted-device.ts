/**
 * A device that counts what is made on it and what of it still exists.
 */
import { swiftShaderDevice } from './swiftshader.js';

export class CountedDevice {
  readonly device: GPUDevice;
  readonly #alive = new Map<GPUBuffer, string>();
  #pipelines = 0;
  #buffers = 0;

  private constructor(device: GPUDevice) {
    this.device = device;
    const createBuffer = device.createBuffer.bind(device);
    const createPipeline = device.createComputePipelineAsync.bind(device);
    device.createBuffer = (descriptor) => {
      const buffer = createBuffer(descriptor);
      const label = descriptor.label ?? '';
      this.#alive.set(buffer, label);
      this.#buffers++;
      const destroy = buffer.destroy.bind(buffer);
      buffer.destroy = () => {
        this.#alive.delete(buffer);
        destroy();
      };
      return buffer;
    };
    device.createComputePipelineAsync = (descriptor) => {
      this.#pipelines++;
      return createPipeline(descriptor);
    };
  }

  static async open(): Promise<CountedDevice> {
    return new CountedDevice(await swiftShaderDevice());
  }

  /** Pipelines ever made. */
  get pipelines(): number {
    return this.#pipelines;
  }

  /** Buffers ever made. */
  get buffers(): number {
    return this.#buffers;
  }

  /** Labels of the buffers that were not destroyed. */
  get alive(): string[] {
    return [...this.#alive.values()].sort();
  }
}
