// packages/backend-webgpu/test/support/swiftshader.ts
import { tmpdir as tmpdir2 } from "node:os";
import { join as join2 } from "node:path";
import koffi from "koffi";

// packages/backend-webgpu/test/support/dawn-switches.ts
var CHEAP_ZEROS = "disable-dawn-features=use_vulkan_zero_initialize_workgroup_memory_extension";
var NO_CLAMPS = "enable-dawn-features=disable_robustness";

// packages/backend-webgpu/test/support/unpacked.ts
import { execFileSync } from "node:child_process";
import {
  chmodSync,
  createReadStream,
  createWriteStream,
  existsSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmSync
} from "node:fs";
import { tmpdir } from "node:os";
import { basename, dirname, join } from "node:path";
import { pipeline } from "node:stream/promises";
import { fileURLToPath } from "node:url";
import { createBrotliDecompress } from "node:zlib";
var ARCHIVES = {
  /** Vulkan driver and loader. */
  swiftshader: "swiftshader.tar.br",
  /** Headless Chromium: one executable. */
  chromium: "chromium.br",
  /** Shared libraries that Chromium needs and a bare machine lacks. */
  al2023: "al2023.tar.br"
};
async function unpacked(...names) {
  const root = packageRoot();
  const { version } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
  const target = join(tmpdir(), `lowbit-kv-${names.join("-")}-${version}`);
  if (existsSync(target)) return target;
  const building = mkdtempSync(`${target}-`);
  await Promise.all(names.map((name) => unpack(join(root, "bin", ARCHIVES[name]), building)));
  try {
    renameSync(building, target);
  } catch (error) {
    if (!existsSync(target)) throw error;
    rmSync(building, { recursive: true });
  }
  return target;
}
async function unpack(archive, folder) {
  const file = join(folder, basename(archive, ".br"));
  await pipeline(createReadStream(archive), createBrotliDecompress(), createWriteStream(file));
  if (file.endsWith(".tar")) {
    execFileSync("tar", ["-xf", file, "-C", folder]);
    rmSync(file);
  } else chmodSync(file, 493);
}
function packageRoot() {
  let folder = dirname(fileURLToPath(import.meta.resolve("@sparticuz/chromium")));
  while (!existsSync(join(folder, "bin", ARCHIVES.swiftshader))) {
    if (folder === dirname(folder))
      throw new Error(`@sparticuz/chromium without ${ARCHIVES.swiftshader}`);
    folder = dirname(folder);
  }
  return folder;
}

// packages/backend-webgpu/test/support/swiftshader.ts
var gpu;
var libraries = [];
async function swiftShaderGpu() {
  gpu ??= (async () => {
    const folder = await unpacked("swiftshader");
    process.env.VK_ICD_FILENAMES ??= join2(folder, "vk_swiftshader_icd.json");
    process.env.XDG_RUNTIME_DIR ??= tmpdir2();
    libraries.push(koffi.load(join2(folder, "libvulkan.so.1")));
    const { create } = await import("webgpu");
    return create([CHEAP_ZEROS, NO_CLAMPS]);
  })();
  return gpu;
}

// packages/backend-webgpu/ss.tmp.ts
await swiftShaderGpu();
await import(process.env.SCRIPT);
