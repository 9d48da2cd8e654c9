/**
 * A GPUDevice without a GPU: SwiftShader's Vulkan driver out of @sparticuz/chromium, under dawn.
 */
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { brotliDecompressSync } from 'node:zlib';
import koffi from 'koffi';

const require = createRequire(import.meta.url);

/** The folder that holds the driver, unpacked once per version. */
function driverFolder(): string {
  const main = require.resolve('@sparticuz/chromium');
  const root = main.slice(0, main.indexOf('chromium') + 'chromium'.length);
  let folder = dirname(main);
  while (!existsSync(join(folder, 'bin', 'swiftshader.tar.br'))) {
    if (folder === dirname(folder)) throw new Error(`no swiftshader.tar.br above ${root}`);
    folder = dirname(folder);
  }
  const { version } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as {
    version: string;
  };
  const target = join(tmpdir(), `lowbit-kv-swiftshader-${version}`);
  if (existsSync(target)) return target;
  const building = `${target}-${process.pid}`;
  mkdirSync(building, { recursive: true });
  const archive = join(building, 'driver.tar');
  writeFileSync(
    archive,
    brotliDecompressSync(readFileSync(join(folder, 'bin', 'swiftshader.tar.br'))),
  );
  execFileSync('tar', ['-xf', archive, '-C', building]);
  rmSync(archive);
  try {
    renameSync(building, target);
  } catch {
    // Another test process was faster.
    rmSync(building, { recursive: true });
  }
  return target;
}

let gpu: Promise<GPU> | undefined;
/** Held, because a library that nothing refers to may be unloaded. */
const libraries: unknown[] = [];

export async function swiftShaderGpu(): Promise<GPU> {
  gpu ??= (async () => {
    const folder = driverFolder();
    process.env.VK_ICD_FILENAMES ??= join(folder, 'vk_swiftshader_icd.json');
    process.env.XDG_RUNTIME_DIR ??= tmpdir();
    // Dawn finds a loader that is in the process already.
    libraries.push(koffi.load(join(folder, 'libvulkan.so.1')));
    const { create } = await import('webgpu');
    return create([]);
  })();
  return gpu;
}

export async function swiftShaderDevice(descriptor: GPUDeviceDescriptor = {}): Promise<GPUDevice> {
  const adapter = await (await swiftShaderGpu()).requestAdapter();
  if (adapter === null) throw new Error('dawn finds no adapter under SwiftShader');
  return adapter.requestDevice(descriptor);
}
