/**
 * A GPUDevice without a GPU: SwiftShader's Vulkan driver under dawn.
 */
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import koffi from 'koffi';
import { CHEAP_ZEROS, NO_CLAMPS } from './dawn-switches.js';
import { pollPatiently } from './patient-polling.js';
import { unpacked } from './unpacked.js';

let gpu: Promise<GPU> | undefined;
/** Held, because a library that nothing refers to may be unloaded. */
const libraries: unknown[] = [];

export async function swiftShaderGpu(): Promise<GPU> {
  gpu ??= (async () => {
    const folder = await unpacked('swiftshader');
    process.env.VK_ICD_FILENAMES ??= join(folder, 'vk_swiftshader_icd.json');
    process.env.XDG_RUNTIME_DIR ??= tmpdir();
    // Dawn finds a loader that is in the process already.
    libraries.push(koffi.load(join(folder, 'libvulkan.so.1')));
    pollPatiently();
    const { create } = await import('webgpu');
    return create([CHEAP_ZEROS, NO_CLAMPS]);
  })();
  return gpu;
}

export async function swiftShaderDevice(descriptor: GPUDeviceDescriptor = {}): Promise<GPUDevice> {
  const adapter = await (await swiftShaderGpu()).requestAdapter();
  if (adapter === null) throw new Error('dawn finds no adapter under SwiftShader');
  return adapter.requestDevice(descriptor);
}
