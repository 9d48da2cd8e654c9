/**
 * libnvrtc through koffi: where it is looked for, and its calls.
 */
import { win32 } from 'node:path';
import { LowbitKvError } from '@lowbit-kv/core';
import { type Library, requireKoffi } from '../driver/koffi.js';
import { type CudaVersion, cudaVersionText } from '../driver/version.js';
import { MINIMUM_NVRTC, type Nvrtc, type NvrtcProgram, type NvrtcResult } from './nvrtc.js';

/** By C name; every function returns an nvrtcResult. */
const FUNCTIONS = {
  nvrtcVersion: ['void *', 'void *'],
  nvrtcGetNumSupportedArchs: ['void *'],
  nvrtcGetSupportedArchs: ['void *'],
  nvrtcCreateProgram: ['void *', 'str', 'str', 'int', 'const char **', 'const char **'],
  nvrtcCompileProgram: ['uint64', 'int', 'const char **'],
  nvrtcGetProgramLogSize: ['uint64', 'void *'],
  nvrtcGetProgramLog: ['uint64', 'void *'],
  nvrtcGetCUBINSize: ['uint64', 'void *'],
  nvrtcGetCUBIN: ['uint64', 'void *'],
  nvrtcGetPTXSize: ['uint64', 'void *'],
  nvrtcGetPTX: ['uint64', 'void *'],
  nvrtcDestroyProgram: ['void *'],
} as const;
type FunctionName = keyof typeof FUNCTIONS;
type Call = (name: FunctionName, ...values: unknown[]) => number;

const SUCCESS = 0;
/** nvrtcResult of a program with errors. */
const COMPILATION = 6;

export interface NvrtcOptions {
  /** Path of libnvrtc, instead of where the loader and CUDA_PATH or CUDA_HOME have it; or compilers instead of libraries. */
  readonly nvrtc?: string | readonly Nvrtc[];
  readonly platform?: NodeJS.Platform;
  readonly environment?: Readonly<Record<string, string | undefined>>;
}

export interface NvrtcSearch {
  /** The newest first. */
  readonly found: readonly Nvrtc[];
  /** Libraries that were tried, by why they were not taken. */
  readonly failures: ReadonlyMap<string, readonly string[]>;
}

/** The loader's own search first, then the folders of toolkits. */
export function nvrtcNames({
  platform = process.platform,
  environment = process.env,
}: NvrtcOptions = {}): readonly string[] {
  const roots = [environment.CUDA_PATH, environment.CUDA_HOME].filter((root) => root !== undefined);
  if (platform === 'win32') {
    const names = ['nvrtc64_130_0.dll', 'nvrtc64_120_0.dll'];
    const folders = [...new Set(roots)].flatMap((root) => [`${root}\\bin\\x64`, `${root}\\bin`]);
    return [
      ...names,
      ...folders.flatMap((folder) => names.map((name) => win32.join(folder, name))),
    ];
  }
  if (platform !== 'linux') return [];
  const names = ['libnvrtc.so.13', 'libnvrtc.so.12', 'libnvrtc.so'];
  const folders = [...new Set([...roots, '/usr/local/cuda'])].map((root) => `${root}/lib64`);
  return [...names, ...folders.flatMap((folder) => names.map((name) => `${folder}/${name}`))];
}

/** Never throws: `supports` says what is missing. */
export function findNvrtc(options: NvrtcOptions = {}): NvrtcSearch {
  const { nvrtc } = options;
  if (typeof nvrtc === 'object') return { found: nvrtc, failures: new Map() };
  const names = nvrtc === undefined ? nvrtcNames(options) : [nvrtc];
  const found = new Map<CudaVersion, Nvrtc>();
  const failures = new Map<string, string[]>();
  for (const name of names) {
    try {
      const opened = open(requireKoffi().load(name), name);
      // One library, by several of its names.
      if (!found.has(opened.version)) found.set(opened.version, opened);
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error);
      failures.set(reason, [...(failures.get(reason) ?? []), name]);
    }
  }
  return { found: [...found.values()].sort((a, b) => b.version - a.version), failures };
}

function open(library: Library, name: string): Nvrtc {
  const functions = new Map<FunctionName, (...values: unknown[]) => number>();
  const call: Call = (own, ...values) => {
    let native = functions.get(own);
    if (native === undefined) {
      native = library.func(own, 'int', [...FUNCTIONS[own]]) as (...values: unknown[]) => number;
      functions.set(own, native);
    }
    return native(...values);
  };
  const [major, minor] = [new Int32Array(1), new Int32Array(1)];
  check('nvrtcVersion', call('nvrtcVersion', major, minor));
  const version = 1000 * major[0]! + 10 * minor[0]!;
  if (version < MINIMUM_NVRTC)
    throw new Error(
      `it is of CUDA ${cudaVersionText(version)}, older than ${cudaVersionText(MINIMUM_NVRTC)}`,
    );
  const count = new Int32Array(1);
  check('nvrtcGetNumSupportedArchs', call('nvrtcGetNumSupportedArchs', count));
  const architectures = new Int32Array(count[0]!);
  check('nvrtcGetSupportedArchs', call('nvrtcGetSupportedArchs', architectures));
  return {
    library: name,
    version,
    architectures: [...architectures],
    compile: (program) => compile(call, program),
  };
}

function compile(call: Call, { source, headers, options, kind }: NvrtcProgram): NvrtcResult {
  const names = Object.keys(headers);
  const handle = new BigUint64Array(1);
  const program = [handle, source, 'codecs.cu', names.length, Object.values(headers), names];
  check('nvrtcCreateProgram', call('nvrtcCreateProgram', ...program));
  const text = (what: 'ProgramLog' | 'PTX' | 'CUBIN') => {
    const size = new BigUint64Array(1);
    check(`nvrtcGet${what}Size`, call(`nvrtcGet${what}Size`, handle[0], size));
    const bytes = new Uint8Array(Number(size[0]));
    check(`nvrtcGet${what}`, call(`nvrtcGet${what}`, handle[0], bytes));
    return bytes;
  };
  try {
    const result = call('nvrtcCompileProgram', handle[0], options.length, options);
    const log = new TextDecoder().decode(text('ProgramLog')).replace(/\0+$/, '').trim();
    if (result !== COMPILATION) check('nvrtcCompileProgram', result, log);
    const isCompiled = result === SUCCESS;
    return { image: isCompiled ? text(kind === 'ptx' ? 'PTX' : 'CUBIN') : undefined, log };
  } finally {
    call('nvrtcDestroyProgram', handle);
  }
}

function check(name: FunctionName, result: number, log = ''): void {
  if (result === SUCCESS) return;
  throw new LowbitKvError('BACKEND_UNAVAILABLE', {
    message: `a call of NVRTC failed${log === '' ? '' : ` (it says: ${log})`}`,
    value: `nvrtcResult ${result}`,
    valid: 'NVRTC_SUCCESS (0)',
    next: 'Install NVRTC again: its libraries libnvrtc and libnvrtc-builtins are of one version.',
    where: { call: name },
  });
}
