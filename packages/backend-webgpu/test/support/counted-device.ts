/**
 * A device that counts what is made on it and what of it still exists.
 */
import { swiftShaderDevice } from './swiftshader.js';

/** Made per attention call and owned by the call or its caller; everything else is to be made once. */
const PER_CALL = ['lowbit-kv query', 'lowbit-kv result', 'lowbit-kv read-back'];

export class CountedDevice {
  readonly device: GPUDevice;
  readonly #alive = new Map<GPUBuffer, string>();
  #pipelines = 0;
  #lastingBuffers = 0;

  private constructor(device: GPUDevice) {
    this.device = device;
    const createBuffer = device.createBuffer.bind(device);
    const createPipeline = device.createComputePipelineAsync.bind(device);
    device.createBuffer = (descriptor) => {
      const buffer = createBuffer(descriptor);
      const label = descriptor.label ?? '';
      this.#alive.set(buffer, label);
      if (!PER_CALL.includes(label)) this.#lastingBuffers++;
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

  /** Buffers ever made that outlive an attention call. */
  get lastingBuffers(): number {
    return this.#lastingBuffers;
  }

  /** Labels of the buffers that were not destroyed. */
  get alive(): string[] {
    return [...this.#alive.values()].sort();
  }
}
