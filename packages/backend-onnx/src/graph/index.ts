/**
 * @lowbit-kv/backend-onnx/graph: building ONNX graphs and running them, for packages that bring graphs of their own.
 */
export {
  INSTALL_STEP,
  loadRuntime,
  type OnnxRuntime,
  type OnnxSession,
  type OnnxTensor,
} from '../runtime.js';
export { type ElementType, GraphBuilder, type Operand, type Value } from './builder.js';
export { Operations } from './operations.js';
