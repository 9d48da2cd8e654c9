// The contract that core holds every backend to.
import { onnxBackend } from '@lowbit-kv/backend-onnx';
import { describeBackend } from '@lowbit-kv/core/contract';

describeBackend(onnxBackend({ intraOpNumThreads: 1 }), { mayRefuse: [] });
