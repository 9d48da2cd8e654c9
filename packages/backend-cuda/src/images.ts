/**
 * The kernel images of this package: data that scripts/build-kernels.ts builds, described by images/manifest.json.
 */
import { readFileSync } from 'node:fs';
import { brotliDecompressSync } from 'node:zlib';
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
  /** Of what the driver loads. */
  readonly sha256: string;
  /** By name. */
  readonly kernels: Readonly<Record<string, KernelUsage>>;
}

export const PARTS = ['attend', 'pack'] as const;

export interface ImageManifest extends KernelImage {
  readonly parts: Readonly<Record<(typeof PARTS)[number], ImagePart>>;
}

export interface Manifest {
  /** Hash of the sources that images were built from. */
  readonly sources: string;
  readonly compiler: string;
  readonly images: readonly ImageManifest[];
}

const FOLDER = new URL('../images/', import.meta.url);

export function kernelManifest(): Manifest {
  return JSON.parse(readFileSync(new URL('manifest.json', FOLDER), 'utf8')) as Manifest;
}

/** The bytes that the driver loads. */
export function partBytes({ file }: ImagePart): Uint8Array {
  return brotliDecompressSync(readFileSync(new URL(file, FOLDER)));
}
