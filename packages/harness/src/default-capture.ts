/** The capture that this package ships; data/README.md says where it comes from. */
import { fileURLToPath } from 'node:url';

/** Path of the default capture. The same from src/ and from dist/. */
export function defaultCapturePath(): string {
  return fileURLToPath(new URL('../data/smollm2-135m-capture-small.safetensors', import.meta.url));
}
