/** Opens captures by path, or those in memory. */
import { type Capture, readCapture } from './capture.js';
import { openSafetensors } from './open-safetensors.js';

/**
 * Opens a capture and checks everything but the values; each layer's values are checked when read.
 * Errors: SAFETENSORS_INVALID for the file, CAPTURE_INVALID for what it holds.
 */
export async function openCapture(pathOrBytes: string | Uint8Array): Promise<Capture> {
  return readCapture(await openSafetensors(pathOrBytes));
}
