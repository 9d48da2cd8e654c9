// The contract that core holds every backend to.
import { onnxBackend } from '@lowbit-kv/backend-onnx';
import { describeBackend } from '@lowbit-kv/core/contract';
import { shareOfToday } from '../../core/test/support/share-of-today.js';

const share = shareOfToday('plans of the contract', 6);
describeBackend(onnxBackend({ intraOpNumThreads: 1 }), { mayRefuse: [], share });
