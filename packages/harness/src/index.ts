// Public entry of @lowbit-kv/harness.
// File formats: safetensors and captures.
export { Capture, type CaptureLayer, openCapture } from './capture.js';
export { CAPTURE_DTYPES, type CaptureShape } from './capture-index.js';
export { CAPTURE_FORMAT, CAPTURE_VERSION } from './capture-metadata.js';
export { defaultCapturePath } from './default-capture.js';
export { openSafetensors, SafetensorsFile } from './safetensors.js';
export { SAFETENSORS_DTYPES, type SafetensorsDtype } from './safetensors-dtypes.js';
export { SAFETENSORS_HEADER_LIMIT, type TensorInfo } from './safetensors-header.js';
export {
  F16_READABLE,
  type F16ReadableDtype,
  F32_READABLE,
  type F32ReadableDtype,
} from './safetensors-widen.js';
export { type TensorToWrite, writeSafetensors } from './safetensors-writer.js';
