/**
 * @lowbit-kv/backend-onnx: encoding and attention as ONNX graphs, executed by ONNX Runtime or exported as model files.
 */
export { type ExportedGraphs, type ExportOptions, exportOnnx } from './export-onnx.js';
export { type OnnxBackendOptions, onnxBackend } from './onnx-backend.js';
export type { OnnxRuntime, OnnxSession, OnnxTensor } from './runtime.js';
