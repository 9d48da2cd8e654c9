/**
 * The kernel images of this package. There are none yet: the driver layer is, its kernels are not.
 */
import type { KernelImage } from './driver/kernel-images.js';

export const KERNEL_IMAGES: readonly KernelImage[] = [];
