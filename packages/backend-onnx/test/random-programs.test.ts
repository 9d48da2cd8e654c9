// Random programs on this backend and on the model of core, also with faults.
import { onnxBackend } from '@lowbit-kv/backend-onnx';
import { describePrograms } from '@lowbit-kv/core/programs';

describePrograms(onnxBackend({ intraOpNumThreads: 1 }), { seconds: 3, minimum: 8 });
