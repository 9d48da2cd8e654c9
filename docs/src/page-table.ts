/**
 * Every page of the site: its address, the file that is its only source, and its place in the sidebar.
 */

export const SECTIONS = [
  'Start',
  'Use it',
  'Schemes',
  'Extend it',
  'Reference',
  'Measurements',
  'Packages',
  'Project',
] as const;

export interface SitePage {
  /** Address without a leading slash and `.html`; `index` is the home page. */
  readonly path: string;
  /** From the root of the repository. */
  readonly source: string;
  readonly section: (typeof SECTIONS)[number];
  /** In the sidebar. */
  readonly title: string;
}

type Row = readonly [path: string, source: string, title: string];

const TABLE: Readonly<Record<SitePage['section'], readonly Row[]>> = {
  Start: [
    ['index', 'docs/index.md', 'Home'],
    ['quick-start', 'docs/quick-start.md', 'Quick start'],
    ['concepts', 'docs/concepts.md', 'Concepts'],
    ['overview', 'README.md', 'Overview'],
    ['comparison', 'docs/comparison.md', 'Beside other engines'],
    ['glossary', 'docs/glossary.md', 'Glossary'],
  ],
  'Use it': [
    ['use-in-node', 'docs/use-in-node.md', 'In Node'],
    ['use-in-browser', 'docs/use-in-browser.md', 'In the browser'],
    ['use-on-cuda', 'docs/use-on-cuda.md', 'On CUDA'],
    ['examples/node-generation', 'examples/node-generation/README.md', 'A model that writes'],
    [
      'examples/transformers-loop',
      'examples/transformers-loop/README.md',
      'Packed past_key_values',
    ],
    ['examples/merged-backends', 'examples/merged-backends/README.md', 'Two backends, one context'],
    ['examples/onnx-subgraph', 'examples/onnx-subgraph/README.md', 'An ONNX subgraph'],
    ['accuracy-guide', 'docs/accuracy-guide.md', 'Accuracy guide'],
    ['performance-guide', 'docs/performance-guide.md', 'Performance guide'],
    ['caches', 'packages/core/docs/cache.md', 'Caches'],
    ['command-line', 'packages/cli/README.md', 'Command line'],
    ['capture-format', 'packages/harness/docs/capture-format.md', 'Captures'],
    ['evaluation', 'packages/harness/docs/evaluation.md', 'Evaluating a model'],
    ['tuning', 'packages/harness/docs/tuning.md', 'Tuning to a budget'],
    ['gates', 'packages/harness/docs/gates.md', 'Gates in CI'],
    ['sharding', 'packages/harness/docs/sharding.md', 'Sharded runs'],
    ['observing', 'packages/core/docs/observing.md', 'Metrics and logs'],
    ['deploy', 'deploy/README.md', 'Slurm, Kubernetes, Actions'],
    ['playground-page', 'apps/playground/README.md', 'The playground'],
  ],
  Schemes: [
    ['schemes/kivi', 'packages/scheme-kivi/README.md', 'KIVI'],
    ['schemes/innerq', 'packages/scheme-innerq/README.md', 'InnerQ'],
    ['schemes/oaken', 'packages/scheme-oaken/README.md', 'Oaken'],
    ['schemes/bitdecoding', 'packages/scheme-bitdecoding/README.md', 'BitDecoding'],
    ['schemes/rotated', 'packages/scheme-rotated/README.md', 'Rotated'],
    ['schemes/turboquant', 'packages/scheme-turboquant/README.md', 'TurboQuant'],
    ['schemes/kvquant', 'packages/scheme-kvquant/README.md', 'KVQuant'],
    ['schemes/lowbit', 'packages/scheme-lowbit/README.md', 'lowbit'],
    ['schemes/baselines', 'packages/scheme-baselines/README.md', 'Baselines'],
  ],
  'Extend it': [
    ['write-a-scheme', 'docs/write-a-scheme.md', 'Write a scheme'],
    ['write-a-backend', 'docs/write-a-backend.md', 'Write a backend'],
    ['write-a-kernel', 'docs/write-a-kernel.md', 'Write a kernel'],
    ['contract-suite', 'packages/core/docs/contract-suite.md', 'Contract suite'],
    ['examples/custom-scheme', 'examples/custom-scheme/README.md', 'A scheme in one file'],
    ['examples/ternary-codec', 'examples/ternary-codec/README.md', 'A codec'],
    ['examples/accuracy-gate', 'examples/accuracy-gate/README.md', 'An accuracy gate'],
    ['examples/webgpu-encoder', 'examples/webgpu-encoder/README.md', 'In your own encoder'],
    ['examples/webgpu-page', 'examples/webgpu-page/README.md', 'A browser page'],
    ['kernels-cuda', 'packages/backend-cuda/docs/kernels-cuda.md', 'CUDA kernels'],
    ['cuda-instances', 'packages/backend-cuda/docs/instances.md', 'CUDA instances'],
    ['kernels-webgpu', 'packages/backend-webgpu/docs/kernels-webgpu.md', 'WebGPU kernels'],
    ['onnx-graphs', 'packages/backend-onnx/docs/graphs.md', 'ONNX graphs'],
  ],
  Reference: [
    ['law', 'packages/core/docs/law.md', 'The law'],
    ['block-format', 'packages/core/docs/block-format.md', 'Block format'],
    ['support-matrix', 'docs/support-matrix.md', 'Support matrix'],
    ['errors', 'packages/core/docs/errors.md', 'Errors'],
    ['compatibility', 'docs/compatibility.md', 'Compatibility'],
  ],
  Measurements: [
    ['results', 'docs/results.md', 'Results'],
    ['benchmarks', 'packages/harness/docs/benchmarks.md', 'How we measure'],
    ['webgpu-bench', 'tools/webgpu-bench/README.md', 'WebGPU benchmarks'],
    ['mutation', 'tools/mutation/results/mutation.md', 'Mutation results'],
    ['results/law-pack', 'benchmarks/results/2026-11-29-law-pack.md', 'Packing on a CPU'],
    ['results/eval-smollm2', 'benchmarks/results/2026-11-30-eval-smollm2.md', 'SmolLM2'],
    [
      'results/webgpu-attention',
      'benchmarks/results/2026-11-30-webgpu-attention.md',
      'WebGPU attention',
    ],
    ['results/cuda-kernels', 'benchmarks/results/2026-11-30-cuda-kernels.md', 'CUDA kernels'],
    [
      'results/cuda-backend-2026-11-30',
      'benchmarks/results/2026-11-30-cuda-backend.md',
      'CUDA backend, November',
    ],
    [
      'results/cuda-overlap-rows-bands',
      'benchmarks/results/2026-11-30-cuda-overlap-rows-bands.md',
      'CUDA overlap and rows',
    ],
    [
      'results/cuda-backend-2026-12-01',
      'benchmarks/results/2026-12-01-cuda-backend.md',
      'CUDA backend, December',
    ],
    ['results/cuda-bands', 'benchmarks/results/2026-12-01-cuda-bands.md', 'CUDA bands'],
    [
      'results/cuda-rows-latency',
      'benchmarks/results/2026-12-01-cuda-rows-latency.md',
      'CUDA latency',
    ],
  ],
  Packages: [
    ['packages/core', 'packages/core/README.md', 'core'],
    ['packages/backend-onnx', 'packages/backend-onnx/README.md', 'backend-onnx'],
    ['packages/backend-webgpu', 'packages/backend-webgpu/README.md', 'backend-webgpu'],
    ['packages/backend-cuda', 'packages/backend-cuda/README.md', 'backend-cuda'],
    ['packages/harness', 'packages/harness/README.md', 'harness'],
    ['packages/report', 'packages/report/README.md', 'report'],
    ['packages/model-onnx', 'packages/model-onnx/README.md', 'model-onnx'],
  ],
  Project: [
    ['contributing', 'CONTRIBUTING.md', 'Contributing'],
    ['reliability', 'docs/reliability.md', 'Reliability'],
    ['dependencies', 'docs/dependencies.md', 'Dependencies'],
    ['third-party', 'THIRD_PARTY.md', 'Third-party packages'],
    ['security', 'SECURITY.md', 'Security'],
    ['capture-data', 'packages/harness/data/README.md', 'The shipped capture'],
    ['fixtures', 'fixtures/README.md', 'Fixtures'],
    ['golden-fixtures', 'fixtures/golden/README.md', 'Golden fixtures'],
  ],
};

export const PAGES: readonly SitePage[] = SECTIONS.flatMap((section) =>
  TABLE[section].map(([path, source, title]) => ({ path, source, section, title })),
);

/** Markdown files that are no page on purpose, and why. */
export const LEFT_OUT: Readonly<Record<string, string>> = {};
