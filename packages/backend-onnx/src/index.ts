/**
 * @lowbit-kv/backend-onnx: encoding and attention as ONNX graphs.
 */
export { type OnnxBackendOptions, onnxBackend } from './onnx-backend.js';
