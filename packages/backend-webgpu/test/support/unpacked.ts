/**
 * What @sparticuz/chromium ships compressed, unpacked once per version into the folder for temporary files.
 */
import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  createReadStream,
  createWriteStream,
  existsSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { fileURLToPath } from 'node:url';
import { createBrotliDecompress } from 'node:zlib';

const ARCHIVES = {
  /** Vulkan driver and loader. */
  swiftshader: 'swiftshader.tar.br',
  /** Headless Chromium: one executable. */
  chromium: 'chromium.br',
  /** Shared libraries that Chromium needs and a bare machine lacks. */
  al2023: 'al2023.tar.br',
} as const;

/** A folder that holds what the archives hold. Safe against other processes that unpack them at the same time. */
export async function unpacked(...names: readonly (keyof typeof ARCHIVES)[]): Promise<string> {
  const root = packageRoot();
  const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as {
    readonly version: string;
  };
  const target = join(tmpdir(), `lowbit-kv-${names.join('-')}-${version}`);
  if (existsSync(target)) return target;
  const building = mkdtempSync(`${target}-`);
  await Promise.all(names.map((name) => unpack(join(root, 'bin', ARCHIVES[name]), building)));
  try {
    renameSync(building, target);
  } catch (error) {
    if (!existsSync(target)) throw error;
    // Another process was faster.
    rmSync(building, { recursive: true });
  }
  return target;
}

async function unpack(archive: string, folder: string): Promise<void> {
  const file = join(folder, basename(archive, '.br'));
  await pipeline(createReadStream(archive), createBrotliDecompress(), createWriteStream(file));
  if (file.endsWith('.tar')) {
    execFileSync('tar', ['-xf', file, '-C', folder]);
    rmSync(file);
  } else chmodSync(file, 0o755);
}

function packageRoot(): string {
  let folder = dirname(fileURLToPath(import.meta.resolve('@sparticuz/chromium')));
  while (!existsSync(join(folder, 'bin', ARCHIVES.swiftshader))) {
    if (folder === dirname(folder))
      throw new Error(`@sparticuz/chromium without ${ARCHIVES.swiftshader}`);
    folder = dirname(folder);
  }
  return folder;
}
