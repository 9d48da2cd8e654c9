/**
 * The backend that benchmarks run: with the images of this package, or with those of a folder, --images=FOLDER/.
 */
import { resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { kernelManifest, partBytes } from '../src/images.js';
import { type CudaBackend, cudaBackend } from '../src/index.js';

export function benchBackend(): CudaBackend {
  const given = process.argv.find((argument) => argument.startsWith('--images='))?.slice(9);
  if (given === undefined) return cudaBackend();
  const folder = pathToFileURL(`${resolve(given)}/`);
  const { images } = kernelManifest(folder);
  return cudaBackend({
    kernels: {
      images: () => images,
      bytes: (image, part) => partBytes(image.parts[part], folder),
    },
  });
}
