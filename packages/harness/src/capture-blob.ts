/** Opens captures that a browser holds: files of visitors, and answers of servers. */
import { blobSource } from './byte-source.js';
import { type Capture, readCapture } from './capture.js';
import { readSafetensors } from './safetensors.js';

export type { Capture } from './capture.js';

/**
 * As `openCapture`, over a blob of any size: layers are read when they are asked for. `name` is what errors call it.
 * Errors: SAFETENSORS_INVALID, CAPTURE_INVALID.
 */
export async function openCaptureBlob(blob: Blob, name: string): Promise<Capture> {
  return readCapture(await readSafetensors(blobSource(blob, name)));
}
