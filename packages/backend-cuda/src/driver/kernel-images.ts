/**
 * Which kernel image a card takes. Machine code runs on its compute capability and later ones of the same major number;
 * PTX runs on its own and every later one, compiled by the driver.
 */
import { LowbitKvError } from '@lowbit-kv/core';
import { type ComputeCapability, capabilityText, type Device } from './device.js';
import { type CudaVersion, cudaVersionText, driverAdvice } from './version.js';

export interface KernelImage {
  /** For example `sm_90`. */
  readonly name: string;
  readonly kind: 'machineCode' | 'ptx';
  readonly capability: ComputeCapability;
  /** Oldest CUDA version whose drivers load it. */
  readonly minimumVersion: CudaVersion;
}

export type ImageChoice =
  | { readonly image: KernelImage }
  | { readonly image: undefined; readonly reason: string; readonly next: string };

/** The fastest image that runs: machine code before PTX, then the one nearest to the card. */
export function chooseImage(
  images: readonly KernelImage[],
  capability: ComputeCapability,
  version: CudaVersion,
): ImageChoice {
  const fitting = images
    .filter((image) => runsOn(image, capability))
    .sort((a, b) => rank(b) - rank(a));
  const image = fitting.find(({ minimumVersion }) => minimumVersion <= version);
  if (image !== undefined) return { image };
  const needed = Math.min(...fitting.map(({ minimumVersion }) => minimumVersion));
  if (Number.isFinite(needed)) {
    return {
      image: undefined,
      reason: `kernels for compute capability ${capabilityText(capability)} need a driver for CUDA ${cudaVersionText(needed)} or newer, and this one is for CUDA ${cudaVersionText(version)}`,
      next: driverAdvice(needed),
    };
  }
  if (images.length === 0) {
    return {
      image: undefined,
      reason: 'this version of the package has no kernels',
      next: 'Install a version with kernels, or use another backend.',
    };
  }
  const names = images.map(({ name }) => name).join(', ');
  const lowest = [...images].sort((a, b) => order(a.capability) - order(b.capability))[0]!;
  return {
    image: undefined,
    reason: `no kernel image runs on compute capability ${capabilityText(capability)} (there are ${names})`,
    next: `Use a card of compute capability ${capabilityText(lowest.capability)} or higher, or another backend.`,
  };
}

/** The image for a device. Throws BACKEND_UNAVAILABLE when none runs there. */
export function requireImage(images: readonly KernelImage[], device: Device): KernelImage {
  const { name, computeCapability } = device.properties;
  const choice = chooseImage(images, computeCapability, device.cuda.version);
  if (choice.image !== undefined) return choice.image;
  throw new LowbitKvError('BACKEND_UNAVAILABLE', {
    message: choice.reason,
    value: `${name}, compute capability ${capabilityText(computeCapability)}`,
    valid: images.map((image) => image.name),
    next: choice.next,
    where: { device: device.ordinal },
  });
}

function runsOn({ kind, capability: own }: KernelImage, card: ComputeCapability): boolean {
  if (kind === 'ptx') return order(own) <= order(card);
  return own.major === card.major && own.minor <= card.minor;
}

function order({ major, minor }: ComputeCapability): number {
  return major * 100 + minor;
}

function rank({ kind, capability }: KernelImage): number {
  return order(capability) + (kind === 'machineCode' ? 1_000_000 : 0);
}
