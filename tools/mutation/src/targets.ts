// All mutants.
import type { Target } from './mutant.js';
import { blockTargets } from './mutants/blocks.js';
import { cacheTargets } from './mutants/cache.js';
import { codecTargets } from './mutants/codecs.js';
import { cudaTargets } from './mutants/cuda.js';
import { onnxAttentionTargets } from './mutants/onnx-attention.js';
import { onnxEncodeTargets } from './mutants/onnx-encode.js';
import { plannerTargets } from './mutants/planner.js';
import { quantizerTargets } from './mutants/quantizers.js';
import { snapshotTargets } from './mutants/snapshots.js';
import { wgslTargets } from './mutants/wgsl.js';
import { windowTargets } from './mutants/windows.js';

export const targets: readonly Target[] = [
  ...[...quantizerTargets, ...codecTargets, ...plannerTargets, ...blockTargets, ...windowTargets],
  ...[...cacheTargets, ...snapshotTargets, ...onnxEncodeTargets, ...onnxAttentionTargets],
  ...[...wgslTargets, ...cudaTargets],
];
