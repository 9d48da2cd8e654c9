/**
 * How the fake driver takes kernel images: machine code by its magic, PTX by its text.
 */
import { RESULT } from '../../../src/driver/results.js';

import type { FakeKernel } from './kernels.js';

/** First bytes of a cubin (ELF) and of a fatbin. */
const MACHINE_CODE = [
  [0x7f, 0x45, 0x4c, 0x46],
  [0x50, 0xed, 0x55, 0xba],
];

/** A fatbin as far as the fake looks. */
export const FAKE_FATBIN = Uint8Array.of(0x50, 0xed, 0x55, 0xba, 1, 0, 16, 0);

/** Images with kernels of their own, each by a number behind its magic. */
export class FakeImages {
  readonly #kernels: (readonly FakeKernel[])[] = [];

  add(kernels: readonly FakeKernel[]): Uint8Array {
    const number = this.#kernels.push(kernels);
    return Uint8Array.of(...(MACHINE_CODE[0] as number[]), number, number >> 8, 0, 0);
  }

  kernelsOf(image: Uint8Array): readonly FakeKernel[] | undefined {
    const isOwn = MACHINE_CODE[0]!.every((byte, index) => image[index] === byte);
    return isOwn ? this.#kernels[image[4]! + 256 * image[5]! - 1] : undefined;
  }
}

export interface LoadedImage {
  readonly result: number;
  readonly infoLog: string;
  readonly errorLog: string;
  /** Kernels in it; undefined: any. */
  readonly entries: readonly string[] | undefined;
}

/** `capability`: 10 * major + minor. `ptxVersion`: of the driver, likewise. */
export function loadImage(image: Uint8Array, capability: number, ptxVersion: number): LoadedImage {
  const bad = (result: number, errorLog = '') => ({ result, errorLog, infoLog: '', entries: [] });
  if (MACHINE_CODE.some((magic) => magic.every((byte, index) => image[index] === byte))) {
    return { result: RESULT.SUCCESS, infoLog: '', errorLog: '', entries: undefined };
  }
  const end = image.indexOf(0);
  const text = new TextDecoder().decode(image.subarray(0, Math.max(end, 0)));
  const [, major, minor] = /^\.version\s+(\d+)\.(\d+)/m.exec(text) ?? [];
  if (major === undefined || minor === undefined) return bad(RESULT.INVALID_IMAGE);
  if (Number(major) * 10 + Number(minor) > ptxVersion)
    return bad(RESULT.UNSUPPORTED_PTX_VERSION, `fatal: Unsupported .version ${major}.${minor}`);
  const target = Number(/^\.target\s+sm_(\d+)/m.exec(text)?.[1]);
  if (!(target <= capability)) return bad(RESULT.NO_BINARY_FOR_GPU);
  const entries = [...text.matchAll(/\.entry\s+(\w+)/g)].map(([, name]) => name!);
  if (entries.length === 0) return bad(RESULT.INVALID_PTX, 'error: no entry');
  return {
    result: RESULT.SUCCESS,
    infoLog: `info: compiled ${entries.join(', ')}`,
    errorLog: '',
    entries,
  };
}
