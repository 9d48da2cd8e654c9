/**
 * The text of the kernels of an image, and what its binaries are built from.
 */
import { createHash } from 'node:crypto';
import { fileURLToPath } from 'node:url';
import { bandSharedBytes } from '../src/attend/band-attention.js';
import { rowsSharedBytes, TILE_ROWS } from '../src/attend/rows-shared-bytes.js';
import { BARRIER_BYTES } from '../src/attend/structs.js';
import { GENERAL_ATTEND_KERNEL, GENERAL_PACK_KERNELS } from '../src/general/structs.js';
import type { Part } from '../src/images.js';
import {
  APPEND_INSTANCES,
  BAND_INSTANCES,
  type BandInstance,
  INSTANCES,
  type KernelInstance,
  type PackInstance,
  ROWS_INSTANCES,
  type RowsInstance,
  type TensorInstance,
} from '../src/instances.js';
import { headersOf, headerText } from '../src/kernel-headers.js';
import { pageLayout } from '../src/pages/page-layout.js';

export const KERNELS_FOLDER = fileURLToPath(new URL('../kernels/', import.meta.url));

export const COMPILER_FLAGS = ['-std=c++20', '-O3', '-Xptxas', '-v'] as const;

export interface Target {
  /** Of the image. */
  readonly name: string;
  readonly kind: 'machineCode' | 'ptx';
  readonly capability: { readonly major: number; readonly minor: number };
  /** That a block gets on the cards it is for. */
  readonly sharedBytes: number;
}

const KIBIBYTE = 1024;
/** Query heads of a tile of columns. */
const TILE_HEADS = 4;

export const TARGETS: readonly Target[] = [
  machineCode(8, 0, 163),
  // Cards of 8.6 run the code of 8.0, but have less shared memory.
  machineCode(8, 6, 99),
  machineCode(8, 9, 99),
  machineCode(9, 0, 227),
  // For later cards, some of which have no more shared memory than those of 8.6, and for drivers that do not know the machine code.
  { name: 'ptx_80', kind: 'ptx', capability: { major: 8, minor: 0 }, sharedBytes: 99 * KIBIBYTE },
];

function machineCode(major: number, minor: number, kibibytes: number): Target {
  return {
    name: `sm_${major}${minor}`,
    kind: 'machineCode',
    capability: { major, minor },
    sharedBytes: kibibytes * KIBIBYTE,
  };
}

/** Warps of a block: as many as the instance wants, or as pages fit into shared memory. */
export function warpsOf(instance: BuiltInstance, { sharedBytes }: Target): number {
  let { warps } = instance;
  while (sharedBytesOf(instance, warps) > sharedBytes) warps--;
  if (warps === 0) throw new RangeError(`${instance.name}: no page fits into shared memory`);
  return warps;
}

export type BuiltInstance = KernelInstance | RowsInstance | BandInstance;

/** Of a block. */
function sharedBytesOf(instance: BuiltInstance, warps: number): number {
  if (!('key' in instance)) return bandSharedBytes(instance.headDim, warps);
  const { key, value, headDim } = instance;
  const pieces =
    pageLayout({ tensor: 'key', headDim, ...key }).bytes +
    pageLayout({ tensor: 'value', headDim, ...value }).bytes;
  if ('rows' in instance) return rowsSharedBytes(instance, warps, pieces);
  return warps * (pieces + BARRIER_BYTES);
}

/** Which kernels of the instance tables an image has; default all. */
export type Wanted = (name: string) => boolean;

const ALL: Wanted = () => true;

/** Names of the kernels of a part. */
export function kernelNames(part: Part, wanted = ALL): string[] {
  if (part === 'move') return Object.keys(MOVES);
  if (part === 'general') return [...GENERAL_PACK_KERNELS, GENERAL_ATTEND_KERNEL];
  const instances = {
    attend: INSTANCES,
    rows: ROWS_INSTANCES,
    bands: BAND_INSTANCES,
    pack: APPEND_INSTANCES,
  }[part];
  return instances.map(({ name }) => name).filter(wanted);
}

export function sourceText(part: Part, target: Target, wanted = ALL): string {
  const chosen = <T extends BuiltInstance>(all: readonly T[]) =>
    all.filter(({ name }) => wanted(name));
  if (part === 'attend') return attentionKernels('decode.cuh', chosen(INSTANCES), target);
  if (part === 'rows') return attentionKernels('rows.cuh', chosen(ROWS_INSTANCES), target);
  if (part === 'bands') return attentionKernels('bands.cuh', chosen(BAND_INSTANCES), target);
  if (part === 'general') return '#include "general-attend.cuh"\n#include "general-pack.cuh"\n';
  return part === 'pack' ? appendText(wanted) : moveText();
}

/** Parameters and body of the kernels of kernels/move.cuh. */
const MOVES: Readonly<Record<string, readonly [parameters: string, body: string]>> = {
  import_tensor: ['const ImportJob job', 'importTensor(job, blockIdx.x, gridDim.x);'],
  write_rows: [
    'const WriteJob keys, const WriteJob values',
    'writeRows<MOVE_THREADS>(blockIdx.z == 0 ? keys : values, blockIdx.x, blockIdx.y);',
  ],
};

function moveText(): string {
  const kernels = Object.entries(MOVES).map(
    ([name, [parameters, body]]) =>
      `extern "C" __global__ void __launch_bounds__(MOVE_THREADS) ${name}(${parameters}) { ${body} }`,
  );
  return ['#include "move.cuh"', 'using namespace lowbit;', ...kernels, ''].join('\n');
}

/** An attention kernel without its parameter. */
export function attentionText(instance: BuiltInstance, warps: number): string {
  if (!('key' in instance)) return `attendBands<${instance.headDim}, ${warps}>`;
  const { key, value, headDim } = instance;
  const [body, tiles] =
    'rows' in instance
      ? ['attendRows', instance.rows / TILE_ROWS]
      : ['decode', instance.blockHeads / TILE_HEADS];
  return `${body}<${layoutText('KEY', key, headDim)}, ${layoutText('VALUE', value, headDim)}, ${tiles}, ${warps}>`;
}

/** The struct of its parameter. */
export function attentionJob(instance: BuiltInstance): string {
  return 'key' in instance ? 'DecodeJob' : 'BandJob';
}

function attentionKernels(
  header: string,
  instances: readonly BuiltInstance[],
  target: Target,
): string {
  const kernels = instances.map((instance) => {
    const warps = warpsOf(instance, target);
    return [
      `extern "C" __global__ void __launch_bounds__(LANES * ${warps}, 1)`,
      `${instance.name}(const __grid_constant__ ${attentionJob(instance)} job) {`,
      `  ${attentionText(instance, warps)}(job);`,
      '}',
    ].join('\n');
  });
  return [`#include "${header}"`, 'using namespace lowbit;', ...kernels, ''].join('\n');
}

function appendText(wanted: Wanted): string {
  const instances = APPEND_INSTANCES.filter(({ name }) => wanted(name));
  const kernels = instances.map(({ name, key, value }) => {
    const kernel = `AppendKernel<PackPlan<${packPlanText(key)}>, PackPlan<${packPlanText(value)}>>`;
    return [
      `extern "C" __global__ void __launch_bounds__(${kernel}::THREADS, 1024 / ${kernel}::THREADS)`,
      `${name}(const __grid_constant__ AppendJob keys, const __grid_constant__ AppendJob values) {`,
      `  ${kernel}::run(keys, values);`,
      '}',
    ].join('\n');
  });
  return ['#include "append.cuh"', 'using namespace lowbit;', ...kernels, ''].join('\n');
}

/** Arguments of PackPlan. */
export function packPlanText(instance: PackInstance): string {
  const { tensor, shape, headDim, packing, hasFactors } = instance;
  const { bits, along, groupSize } = shape;
  const { mode } = packing;
  const codes = mode === 'asymmetric' ? 'FULL' : CODE_SETS[packing.codes];
  const [asymmetricBits, tie] =
    mode === 'hybrid' ? [packing.asymmetricBits, packing.tie === 'asymmetric'] : [bits, false];
  const layout = `Tensor::${tensor.toUpperCase()}, ${bits}, Along::${along.toUpperCase()}, ${groupSize}, ${headDim}`;
  return `${layout}, Mode::${mode.toUpperCase()}, CodeSet::${codes}, ${asymmetricBits}, ${tie}, ${hasFactors}`;
}

const CODE_SETS = { signmag: 'SIGNMAG', full: 'FULL', fullSigned: 'FULL_SIGNED' } as const;

function layoutText(tensor: string, instance: TensorInstance, headDim: number): string {
  const { bits, along, groupSize, hasZero, isHybrid } = instance;
  return `PageLayout{Tensor::${tensor}, ${bits}, ${headDim}, Along::${along.toUpperCase()}, ${groupSize}, ${hasZero}, ${isHybrid}}`;
}

/** Of all that a part of an image is built from, but for the compiler. */
export function sourceHash(part: Part, target: Target, wanted = ALL): string {
  const hash = createHash('sha256');
  const text = sourceText(part, target, wanted);
  for (const name of headersOf(text)) hash.update(`${name}\n${headerText(name)}`);
  const { kind, capability } = target;
  return hash.update(JSON.stringify([text, COMPILER_FLAGS, kind, capability])).digest('hex');
}
