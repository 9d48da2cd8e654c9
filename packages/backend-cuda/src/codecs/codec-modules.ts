/**
 * General kernels with codecs, compiled for the card by NVRTC when they are first asked for.
 */
import { LowbitKvError } from '@lowbit-kv/core';
import type { Context } from '../driver/context.js';
import { capabilityText } from '../driver/device.js';
import { chooseImage, type KernelImage } from '../driver/kernel-images.js';
import { Module } from '../driver/module.js';
import { cudaVersionText } from '../driver/version.js';
import { headersForNvrtc } from '../kernel-headers.js';
import type { NvrtcSearch } from '../nvrtc/library.js';
import { NVRTC_ADVICE, type Nvrtc } from '../nvrtc/nvrtc.js';
import { type CudaCodec, codecSource, fileOf } from './codec-source.js';

/** Of operations that texts spell out, none is fused: results are those of the codec's TypeScript. */
export const NVRTC_OPTIONS = [
  '--std=c++20',
  '--fmad=false',
  '--device-as-default-execution-space',
] as const;

/** What a compiler makes that the driver may take. */
interface Target extends KernelImage {
  readonly nvrtc: Nvrtc;
}

export class CodecModules {
  readonly #context: Context;
  readonly #search: () => NvrtcSearch;
  /** By source text: all are for the card of the context. */
  readonly #modules = new Map<string, Module>();

  constructor(context: Context, search: () => NvrtcSearch) {
    this.#context = context;
    this.#search = search;
  }

  /** Throws CODEC_INVALID for texts that do not compile, PLAN_REFUSED without an NVRTC for the card and its driver. */
  of(codecs: readonly CudaCodec[]): Module {
    const source = codecSource(codecs);
    let module = this.#modules.get(source);
    if (module === undefined) {
      module = Module.load(this.#context, this.#compile(codecs, source));
      this.#modules.set(source, module);
    }
    return module;
  }

  #compile(codecs: readonly CudaCodec[], source: string): Uint8Array {
    const { nvrtc, name, kind } = this.#target();
    const options = [...NVRTC_OPTIONS, `--gpu-architecture=${name}`];
    const headers = headersForNvrtc(source);
    const { image, log } = nvrtc.compile({ source, headers, options, kind });
    if (image !== undefined) return image;
    const blamed = codecs.filter((codec) =>
      new RegExp(`${fileOf(codec)}\\(\\d+\\): (\\w+ )?error`).test(log),
    );
    throw new LowbitKvError('CODEC_INVALID', {
      message: `the CUDA text of a codec does not compile (NVRTC says: ${log})`,
      value: (blamed.length === 0 ? codecs : blamed).map(({ id }) => id),
      valid: 'CUDA C++ that defines encodeGroup and decodeGroup as GroupCodec.cuda says',
      next: 'Correct the text; the numbers of lines in the log count from its first one.',
    });
  }

  #target(): Target {
    const { device } = this.#context;
    const { computeCapability } = device.properties;
    const { version } = device.cuda;
    const { found } = this.#search();
    const choice = chooseImage(found.flatMap(targetsOf), computeCapability, version);
    if (choice.image !== undefined) return choice.image as Target;
    throw new LowbitKvError('PLAN_REFUSED', {
      message: `NVRTC does not compile codecs for this card and driver: ${choice.reason}`,
      value: found.map((nvrtc) => `${nvrtc.library} of CUDA ${cudaVersionText(nvrtc.version)}`),
      valid: `NVRTC that knows compute capability ${capabilityText(computeCapability)}, of CUDA ${Math.floor(version / 1000)} or before`,
      next: `${choice.next} Or: ${NVRTC_ADVICE}`,
    });
  }
}

/** Drivers load machine code of their major version of CUDA, and PTX of no later version than theirs. */
function targetsOf(nvrtc: Nvrtc): Target[] {
  const { version, architectures } = nvrtc;
  return architectures.flatMap((number): Target[] => {
    const capability = { major: Math.floor(number / 10), minor: number % 10 };
    return [
      {
        nvrtc,
        name: `sm_${number}`,
        kind: 'machineCode',
        capability,
        minimumVersion: Math.floor(version / 1000) * 1000,
      },
      { nvrtc, name: `compute_${number}`, kind: 'ptx', capability, minimumVersion: version },
    ];
  });
}
