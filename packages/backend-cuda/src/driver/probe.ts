/**
 * Whether CUDA can be used here, in words for people: no driver, an old one, no card, or which card with which kernels.
 */
import { type BackendProbe, LowbitKvError } from '@lowbit-kv/core';
import { type Cuda, type CudaOptions, openCuda } from './cuda.js';
import { capabilityText, type Device } from './device.js';
import { chooseImage, type KernelImage } from './kernel-images.js';
import { cudaVersionText } from './version.js';

export interface ProbeOptions extends CudaOptions {
  /** Called when there is a card; what it throws is the reason that none is usable. */
  readonly images: () => readonly KernelImage[];
  /** Number of the device; the first where none is given. */
  readonly device?: number;
}

/** Makes no context and takes no memory of the card. */
export async function probeCuda(options: ProbeOptions): Promise<BackendProbe> {
  try {
    return describe(await openCuda(options), options);
  } catch (error) {
    if (!LowbitKvError.is(error)) throw error;
    const got = error.value === undefined ? '' : ` (${error.value})`;
    return { ok: false, reason: `${error.summary}${got}`, next: error.next };
  }
}

function describe(cuda: Cuda, { images: load, device: ordinal = 0 }: ProbeOptions): BackendProbe {
  const images = load();
  const device = cuda.device(ordinal);
  const driver = `driver for CUDA ${cudaVersionText(cuda.version)}`;
  const choose = (candidate: Device) =>
    chooseImage(images, candidate.properties.computeCapability, cuda.version);
  const choice = choose(device);
  const others = cuda.devices().filter((other) => other.ordinal !== ordinal);
  if (choice.image === undefined) {
    const better = others.find((other) => choose(other).image !== undefined);
    return {
      ok: false,
      reason: `${cardText(device)}, ${driver}: ${choice.reason}`,
      next:
        better === undefined
          ? choice.next
          : `Use device ${better.ordinal}, ${better.properties.name}.`,
    };
  }
  const more = others.map((other) => {
    const { image } = choose(other);
    return `; device ${other.ordinal}: ${cardText(other)}, ${image === undefined ? 'no kernels for it' : `kernels ${image.name}`}`;
  });
  return {
    ok: true,
    device: `${cardText(device)}, ${driver}, kernels ${choice.image.name}${more.join('')}`,
  };
}

function cardText({ properties }: Device): string {
  const { name, computeCapability, memoryBytes, limits } = properties;
  const gibibytes = (memoryBytes / 2 ** 30).toFixed(1);
  return `${name} (compute capability ${capabilityText(computeCapability)}, ${gibibytes} GiB, ${limits.multiprocessors} multiprocessors)`;
}
