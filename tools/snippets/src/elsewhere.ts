/**
 * The blocks that other tests run, by file or block; and those that nothing can run here, with the reason.
 */

const FROM_SOURCES = 'pnpm exec tsx --tsconfig tsconfig.base.json --conditions @lowbit-kv/source';

/** Tests, or lists that they go through, as paths in the repository, that name the file and run its blocks. */
export const RUN_BY: Readonly<Record<string, string>> = {
  'README.md#5': 'packages/cli/test/readme.test.ts',
  'docs/quick-start.md': 'tools/guide/test/quick-start.test.ts',
  'docs/use-in-browser.md': 'tools/snippets/src/guide-pages.ts',
  'docs/use-in-node.md': 'tools/snippets/src/guide-pages.ts',
  'docs/use-on-cuda.md': 'tools/snippets/src/guide-pages.ts',
  'docs/write-a-backend.md': 'tools/snippets/test/guide-backend.test.ts',
  'docs/write-a-scheme.md': 'tools/guide/test/write-a-scheme.test.ts',
  'packages/core/docs/cache.md': 'packages/core/test/cache-document.test.ts',
  'packages/core/docs/contract-suite.md': 'packages/core/test/contract/contract.test.ts',
};

/** What a block needs that is not here, and a test that makes the same calls. */
export interface SameCalls {
  readonly needs: string;
  readonly test: string;
  /** Of the block, and of the test. */
  readonly calls: readonly string[];
}

export const SAME_CALLS: Readonly<Record<string, SameCalls>> = {
  'packages/backend-cuda/README.md#3': {
    needs: 'a card, and memory of another library on it',
    test: 'packages/backend-cuda/test/store-tensors.test.ts',
    calls: ['cudaTensor(', 'DeviceMemory.', 'stream', 'into'],
  },
  'packages/backend-cuda/README.md#4': {
    needs: 'a card, and a model that never ends',
    test: 'packages/backend-cuda/test/captured-step.test.ts',
    calls: ['backend.captureStep({ rows', 'captured.run(', '.append(', '.attend(', 'into'],
  },
};

/** Of a cluster or of containers; the scripts are run by the test. */
const DEPLOYED = 'it needs an engine; packages/cli/test/deploy.test.ts runs its files';

/** Lines of shell blocks that nothing runs here, by file and text: the test that does, or why none does. */
export const LINES: Readonly<Record<string, string>> = {
  'packages/cli/README.md: npx lowbit-kv bench --backend cuda --out results': 'it needs a card',
  'docs/performance-guide.md: npx lowbit-kv bench --backend cuda --out results': 'it needs a card',
  'docs/accuracy-guide.md: npx lowbit-kv compare --scheme kivi-4bit-g32 --gate --fail-if "output.worstHead>0.1" --fail-if "bits>7"':
    'the capture of the reader is shorter than the window, which fails every gate; packages/cli/test/gate.test.ts runs gates',
  'deploy/README.md: cd /shared/measurement': DEPLOYED,
  'deploy/README.md: job=$(sbatch --parsable shards.sh)': DEPLOYED,
  'deploy/README.md: sbatch --dependency=afterok:$job merge.sh': DEPLOYED,
  'deploy/README.md: docker build -t registry.example.com/lowbit-kv kubernetes && docker push registry.example.com/lowbit-kv':
    DEPLOYED,
  'deploy/README.md: kubectl apply -f kubernetes/job.yaml': DEPLOYED,
  'deploy/README.md: kubectl wait --for=condition=complete --timeout=24h job/lowbit-kv-shards':
    DEPLOYED,
  'deploy/README.md: kubectl apply -f kubernetes/merge.yaml': DEPLOYED,
  'README.md: npx -y pnpm@12.4.2 test': 'it is what runs this',
  'apps/playground/README.md: pnpm playground': 'it serves a page to a person',
  'apps/playground/README.md: pnpm --filter @lowbit-kv/playground build':
    'the build that apps/playground/test/playground.test.ts opens',
  'examples/custom-scheme/README.md: node use-in-code.mjs':
    'run by examples/custom-scheme/test/custom-scheme.test.ts',
  'examples/custom-scheme/README.md: npx -y pnpm@12.4.2 start':
    'the program that examples/custom-scheme/test/custom-scheme.test.ts runs',
  'examples/node-generation/README.md: node generate.js FOLDER "The Loire is the longest river in France. "':
    'run by examples/node-generation/test/generate.test.ts',
  'examples/node-generation/README.md: npx -y pnpm@12.4.2 start':
    'the program that examples/node-generation/test/generate.test.ts runs',
  'examples/transformers-loop/README.md: node loop.js FOLDER 84 104 101':
    'run by examples/transformers-loop/test/loop.test.ts',
  'examples/transformers-loop/README.md: npx -y pnpm@12.4.2 start':
    'the program that examples/transformers-loop/test/loop.test.ts runs',
  'examples/onnx-subgraph/README.md: node run-subgraph.js attention.onnx':
    'run by examples/onnx-subgraph/test/run-subgraph.test.ts',
  'examples/onnx-subgraph/README.md: npx -y pnpm@12.4.2 start':
    'the program that examples/onnx-subgraph/test/run-subgraph.test.ts runs',
  'examples/merged-backends/README.md: node merge.js':
    'run by examples/merged-backends/test/merge.test.ts',
  'examples/merged-backends/README.md: npx -y pnpm@12.4.2 start':
    'the program that examples/merged-backends/test/merge.test.ts runs',
  'examples/ternary-codec/README.md: npx -y pnpm@12.4.2 exec vitest run examples/ternary-codec':
    'these tests are part of the same run',
  'examples/webgpu-page/README.md: pnpm --filter @lowbit-kv/example-webgpu-page start':
    'it serves a page to a person',
  [`tools/webgpu-bench/README.md: ${FROM_SOURCES} tools/webgpu-bench/src/attention.ts --out figures.json`]:
    'it needs a card',
  [`tools/webgpu-bench/README.md: ${FROM_SOURCES} tools/webgpu-bench/src/ort-rival.ts`]:
    'it needs a card',
  [`tools/webgpu-bench/README.md: ${FROM_SOURCES} --import ./tools/webgpu-bench/src/swiftshader.ts tools/webgpu-bench/src/attention.ts --plan kivi-4bit-g128 --batch 2 --tokens 300 --samples 2 --warm-ms 0 --layers 1`]:
    'run by tools/webgpu-bench/test/benchmark.test.ts',
  'tools/webgpu-bench/README.md: pnpm --filter @lowbit-kv/backend-webgpu exec esbuild ../../tools/webgpu-bench/src/attention.ts --bundle --format=esm --platform=node --conditions=@lowbit-kv/source --external:webgpu --tsconfig=../../tsconfig.base.json --outfile=attention.mjs':
    'it makes a file for a machine with a card',
};

/** Neither programs of ours nor commands. */
export const OTHERS: Readonly<Record<string, string>> = {
  'packages/harness/docs/capture-format.md#1': 'Python, with torch and transformers',
  'packages/core/docs/block-format.md#1':
    'generated, and compared by core with what the generator writes',
  'packages/harness/docs/tuning.md#2':
    'the fields of the file that its first block writes, which the test of lines compares',
};
