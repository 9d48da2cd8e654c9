/**
 * The kernel images of this package: data that scripts/build-kernels.ts builds, described by images/manifest.json.
 */
import { readFileSync } from 'node:fs';
import { brotliDecompressSync } from 'node:zlib';
import { LowbitKvError } from '@lowbit-kv/core';
import type { KernelImage } from './driver/kernel-images.js';

/** What a kernel takes of a card. */
export interface KernelUsage {
  /** Of a block of attention, which chooses them by image. */
  readonly warps?: number;
  readonly registers: number;
  readonly spilledBytes: number;
}

/** A module. */
export interface ImagePart {
  /** In `images`, compressed. */
  readonly file: string;
  /** Hash of the sources that it was built from. */
  readonly sources: string;
  /** Of what the driver loads. */
  readonly sha256: string;
  /** By name. */
  readonly kernels: Readonly<Record<string, KernelUsage>>;
}

/** Modules of an image. */
export const PARTS = ['attend', 'rows', 'bands', 'pack', 'move', 'general'] as const;
export type Part = (typeof PARTS)[number];

export interface ImageManifest extends KernelImage {
  readonly parts: Readonly<Record<Part, ImagePart>>;
}

export interface Manifest {
  readonly compiler: string;
  readonly images: readonly ImageManifest[];
}

const FOLDER = new URL('../images/', import.meta.url);

/** Throws KERNEL_IMAGE_INVALID where the images are not beside the code, as after bundling. */
export function kernelManifest(folder = FOLDER): Manifest {
  const file = new URL('manifest.json', folder);
  try {
    return JSON.parse(readFileSync(file, 'utf8')) as Manifest;
  } catch (cause) {
    throw unreadable(file, cause);
  }
}

/** The bytes that the driver loads. Throws KERNEL_IMAGE_INVALID where they cannot be read. */
export function partBytes({ file }: Pick<ImagePart, 'file'>, folder = FOLDER): Uint8Array {
  const url = new URL(file, folder);
  try {
    return brotliDecompressSync(readFileSync(url));
  } catch (cause) {
    throw unreadable(url, cause);
  }
}

function unreadable({ href }: URL, cause: unknown): LowbitKvError {
  return new LowbitKvError('KERNEL_IMAGE_INVALID', {
    message: 'the kernel images of the package cannot be read',
    value: href,
    valid: 'the folder `images` as the package ships it',
    next: 'Install the package again, and leave it out of bundles.',
    cause,
  });
}
