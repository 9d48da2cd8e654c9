/**
 * A device that fails once, at the call that it is told to: a pipeline that is not made, memory that is not mapped, an error
 * that a scope finds.
 */
import { keepPipelines } from './kept-pipelines.js';
import { swiftShaderDevice } from './swiftshader.js';

type Later = (...values: never[]) => Promise<unknown>;

export class FaultyDevice {
  readonly device: GPUDevice;
  /** Calls so far that can fail. */
  calls = 0;
  readonly #alive = new Map<GPUBuffer, string>();
  #at = 0;

  private constructor(device: GPUDevice) {
    this.device = device;
    keepPipelines(device);
    const failed = (name: string) => Promise.reject(new Error(`${name} failed`));
    this.#replace(device, 'createComputePipelineAsync', failed);
    const error = { message: 'out of memory, put in' } as GPUError;
    this.#replace(device, 'popErrorScope', async (_, pop) => {
      await pop();
      return error;
    });
    const create = device.createBuffer.bind(device);
    device.createBuffer = (descriptor) => {
      const buffer = create(descriptor);
      this.#alive.set(buffer, descriptor.label ?? '');
      this.#replace(buffer, 'mapAsync', failed);
      const destroy = buffer.destroy.bind(buffer);
      buffer.destroy = () => {
        this.#alive.delete(buffer);
        destroy();
      };
      return buffer;
    };
  }

  static async open(): Promise<FaultyDevice> {
    return new FaultyDevice(await swiftShaderDevice());
  }

  /** The call after `calls - 1` others from now on fails; none for 0. */
  arm(calls: number): void {
    this.#at = calls === 0 ? 0 : this.calls + calls;
  }

  /** Labels of the buffers that were not destroyed. */
  get alive(): string[] {
    return [...this.#alive.values()].sort();
  }

  #replace(
    target: object,
    name: string,
    fault: (name: string, call: () => Promise<unknown>) => Promise<unknown>,
  ): void {
    const methods = target as Record<string, Later>;
    const call = (methods[name] as Later).bind(target);
    methods[name] = (...values) => {
      this.calls++;
      return this.calls === this.#at ? fault(name, () => call(...values)) : call(...values);
    };
  }
}
