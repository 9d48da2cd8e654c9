/**
 * The part of the harness that runs in browsers: captures from files, what they hold, and errors against them. Nothing here
 * or below it imports Node.
 */
export { prefillCalibration } from './calibration-source.js';
export { type Capture, openCaptureBlob } from './capture-blob.js';
export {
  type CaptureSizes,
  geometryOf,
  type LayerTensors,
  layerOfBits,
  layerTensors,
  positionOf,
} from './capture-layers.js';
export { type ExactAttention, exactAttention } from './exact-attention.js';
export { F16 } from './f16-scheme.js';
export { schemeForReplay, stretchCalibration } from './layer-mapping.js';
export { MEMORY_TOKENS, memoryFigures } from './memory.js';
export { addSums, errorSum, nmseOf } from './metrics.js';
export { keysAt, type Stage, stageOf } from './pre-rope.js';
export {
  type CaptureRotary,
  type NoRotary,
  requireRotary,
  rotaryOf,
  rotateKeys,
} from './rotary.js';
export { resolveCalibration } from './scheme-calibration.js';
export { headErrors } from './tensor-error.js';
export { THRESHOLDS } from './thresholds.js';
