/**
 * Builds the kernel images with nvcc, and `images/manifest.json`, which says what is in them; parts that were built from these
 * sources stay. Run in the workspace: pnpm build-kernels
 *
 * For measurements a few kernels are enough, in a folder of their own, which benchmarks take as --images:
 * pnpm build-kernels --to=FOLDER/ [--targets=sm_90] [--kernels=attend_k4t128z_v4c128z_d128_h4,append_k4t128z_d128_v4c128z_d128]
 */
import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { brotliCompressSync } from 'node:zlib';
import {
  type ImageManifest,
  type ImagePart,
  type KernelUsage,
  type Manifest,
  PARTS,
  type Part,
} from '../src/images.js';
import { BAND_INSTANCES, INSTANCES, ROWS_INSTANCES } from '../src/instances.js';
import {
  COMPILER_FLAGS,
  KERNELS_FOLDER,
  kernelNames,
  sourceHash,
  sourceText,
  TARGETS,
  type Target,
  warpsOf,
} from './kernel-sources.js';
import { usageOf } from './ptxas-report.js';

const IMAGES_FOLDER = fileURLToPath(new URL('../images/', import.meta.url));
const option = (name: string) =>
  process.argv.find((argument) => argument.startsWith(`--${name}=`))?.slice(name.length + 3);
const folderOfImages = option('to') ?? IMAGES_FOLDER;
const targets = option('targets')?.split(',');
const kernels = option('kernels')?.split(',');
const wanted = (name: string) => kernels === undefined || kernels.includes(name);
if (folderOfImages === IMAGES_FOLDER && (targets !== undefined || kernels !== undefined))
  throw new RangeError('a part of the kernels goes to another folder: --to=FOLDER/');
/** Drivers for this version load machine code of nvcc 13, and PTX of the version below. */
const MACHINE_CODE_VERSION = 13_000;
const PTX_VERSION = 11_080;
/** The PTX that drivers for CUDA 11.8 know; what kernels use is older than that. */
const PTX_HEADER = '.version 7.8';
/** Of later versions, about which bytes of a load are used: code is the same without them. */
const HINTS = /^\s*\.pragma "used_bytes_mask[^\n]*\n/gm;

const folder = mkdtempSync(join(tmpdir(), 'lowbit-kv-kernels-'));
mkdirSync(folderOfImages, { recursive: true });
const compiler = (await run('nvcc', ['--version'])).match(/V[\d.]+/)?.[0] ?? 'unknown';
const before = builtBefore();
const images = await Promise.all(
  TARGETS.filter(({ name }) => targets === undefined || targets.includes(name)).map(build),
);
const manifest: Manifest = { compiler: `nvcc ${compiler}`, images };
writeFileSync(join(folderOfImages, 'manifest.json'), `${JSON.stringify(manifest, null, 2)}\n`);
rmSync(folder, { recursive: true });

async function build(target: Target): Promise<ImageManifest> {
  const { name, kind, capability } = target;
  const parts = await Promise.all(
    PARTS.map(
      async (part) => [part, keptPart(part, target) ?? (await buildPart(part, target))] as const,
    ),
  );
  return {
    name,
    kind,
    capability,
    minimumVersion: kind === 'ptx' ? PTX_VERSION : MACHINE_CODE_VERSION,
    parts: Object.fromEntries(parts) as Record<Part, ImagePart>,
  };
}

/** What an earlier run built, where there is any; by this compiler. */
function builtBefore(): Manifest | undefined {
  const path = `${IMAGES_FOLDER}manifest.json`;
  if (!existsSync(path)) return undefined;
  const manifest = JSON.parse(readFileSync(path, 'utf8')) as Manifest;
  return manifest.compiler === `nvcc ${compiler}` ? manifest : undefined;
}

/** A part that was built from these sources. */
function keptPart(part: Part, target: Target): ImagePart | undefined {
  const known = before?.images.find(({ name }) => name === target.name)?.parts[part];
  if (known?.sources !== sourceHash(part, target, wanted)) return undefined;
  if (folderOfImages !== IMAGES_FOLDER)
    copyFileSync(join(IMAGES_FOLDER, known.file), join(folderOfImages, known.file));
  return known;
}

async function buildPart(part: Part, target: Target): Promise<ImagePart> {
  const { kind, capability } = target;
  const name = `${part}.${target.name}`;
  const number = `${capability.major}${capability.minor}`;
  const source = join(folder, `${name}.cu`);
  writeFileSync(source, sourceText(part, target, wanted));
  const machineCode = join(folder, `${name}.cubin`);
  const compile = (code: string, output: string) =>
    run('nvcc', [
      ...[...COMPILER_FLAGS, '-I', KERNELS_FOLDER, `-gencode=arch=compute_${number},code=${code}`],
      ...[code.startsWith('sm') ? '-cubin' : '-ptx', '-o', output, source],
    ]);
  const report = await compile(`sm_${number}`, machineCode);
  let bytes = readFileSync(machineCode);
  if (kind === 'ptx') {
    const path = join(folder, `${name}.ptx`);
    await compile(`compute_${number}`, path);
    const text = readFileSync(path, 'utf8')
      .replace(/^\.version .*$/m, PTX_HEADER)
      .replace(HINTS, '');
    writeFileSync(path, text);
    // Nothing in it is newer than its header says.
    await run('ptxas', [`-arch=sm_${number}`, '-o', join(folder, `${name}.checked`), path]);
    bytes = Buffer.from(`${text}\0`);
  }
  const file = `${name}.${kind === 'ptx' ? 'ptx' : 'cubin'}.br`;
  writeFileSync(join(folderOfImages, file), brotliCompressSync(bytes));
  console.log(`${file}: ${bytes.length} bytes before compression`);
  const sha256 = createHash('sha256').update(bytes).digest('hex');
  const sources = sourceHash(part, target, wanted);
  return { file, sources, sha256, kernels: kernelsOf(part, report, target) };
}

/** What ptxas reports of each kernel, and the warps that it is built for. */
function kernelsOf(part: Part, report: string, target: Target): Record<string, KernelUsage> {
  const found = usageOf(report);
  const instances = new Map(
    [...INSTANCES, ...ROWS_INSTANCES, ...BAND_INSTANCES].map((instance) => [
      instance.name,
      instance,
    ]),
  );
  return Object.fromEntries(
    kernelNames(part, wanted).map((name) => {
      const usage = found.get(name);
      if (usage === undefined) throw new Error(`${target.name} has no ${name}`);
      const instance = instances.get(name);
      return [
        name,
        instance === undefined ? usage : { warps: warpsOf(instance, target), ...usage },
      ];
    }),
  );
}

/** What a command prints. */
function run(command: string, args: readonly string[]): Promise<string> {
  return new Promise((resolve, reject) => {
    const child = spawn(command, args);
    let printed = '';
    for (const stream of [child.stdout, child.stderr])
      stream.on('data', (chunk) => {
        printed += chunk;
      });
    child.on('error', reject);
    child.on('close', (code) => {
      if (code === 0) resolve(printed);
      else reject(new Error(`${command} ${args.join(' ')}: ${printed}`));
    });
  });
}
