/**
 * A device that is given a changed text of one kernel.
 */
import { swiftShaderDevice } from './swiftshader.js';

export interface ShaderFault {
  /** Label of the kernel. Kernels of one text share a module, which has the name of the first. */
  readonly kernel: string;
  readonly from: string;
  readonly to: string;
}

/** What `run` throws on the device, as text; `passed` when it throws nothing. Throws itself when no shader has the fault. */
export async function failureOf(
  { kernel, from, to }: ShaderFault,
  run: (device: GPUDevice) => Promise<void>,
  open = () => swiftShaderDevice(),
): Promise<string> {
  const device = await open();
  const create = device.createShaderModule.bind(device);
  let changed = 0;
  device.createShaderModule = (descriptor) => {
    if (descriptor.label !== kernel) return create(descriptor);
    const code = descriptor.code.replaceAll(from, to);
    if (code !== descriptor.code) changed++;
    return create({ ...descriptor, code });
  };
  let outcome = 'passed';
  try {
    await run(device);
  } catch (error) {
    outcome = String(error);
  } finally {
    device.destroy();
  }
  if (changed === 0) throw new Error(`no shader ${kernel} contains ${from}`);
  return outcome;
}
