/**
 * The blocks that other tests run, by file or block; and those that nothing can run here, with the reason.
 */

/** Tests, as paths in the repository, that read the file and run its blocks. */
export const RUN_BY: Readonly<Record<string, string>> = {
  'README.md#5': 'packages/cli/test/readme.test.ts',
  'docs/write-a-scheme.md': 'tools/guide/test/write-a-scheme.test.ts',
  'packages/core/docs/cache.md': 'packages/core/test/cache-document.test.ts',
  'packages/core/docs/contract-suite.md': 'packages/core/test/contract/contract.test.ts',
};

/** Tests that make the same calls, where a block takes what only a card, a network or a model has. */
export const SAME_CALLS: Readonly<Record<string, readonly [reason: string, test: string]>> = {
  'packages/backend-cuda/README.md#3': [
    'memory of another library on a card',
    'packages/backend-cuda/test/store-tensors.test.ts',
  ],
  'packages/backend-cuda/README.md#4': [
    'a model that never ends',
    'packages/backend-cuda/test/captured-step.test.ts',
  ],
  'packages/backend-cuda/README.md#5': [
    'a kernel image and a card',
    'packages/backend-cuda/test/graphs.test.ts',
  ],
  'packages/backend-webgpu/README.md#2': [
    'a GPUDevice',
    'packages/backend-webgpu/test/contract.test.ts',
  ],
  'packages/backend-webgpu/README.md#3': [
    'buffers of a model on a GPUDevice',
    'examples/webgpu-encoder',
  ],
  'packages/model-onnx/README.md#2': [
    'a model of the hub',
    'packages/model-onnx/test-model/generate.test.ts',
  ],
  'packages/harness/docs/sharding.md#2': ['a model', 'packages/harness/test/eval-shards.test.ts'],
  'packages/harness/docs/benchmarks.md#1': [
    'seconds of timing',
    'packages/harness/test/bench.test.ts',
  ],
  'packages/harness/docs/evaluation.md#1': [
    'a model',
    'packages/model-onnx/test/inject-evaluate.test.ts',
  ],
};

/** Neither programs of ours nor commands. */
export const OTHERS: Readonly<Record<string, string>> = {
  'packages/harness/docs/capture-format.md#1': 'Python, with torch and transformers',
  'packages/core/docs/block-format.md#1':
    'generated, and compared by core with what the generator writes',
  'packages/harness/docs/tuning.md#2': 'the fields of a file that tune writes',
};
