// All mutants.
import type { Target } from './mutant.js';
import { codecTargets } from './mutants/codecs.js';
import { plannerTargets } from './mutants/planner.js';
import { quantizerTargets } from './mutants/quantizers.js';
import { windowTargets } from './mutants/windows.js';

export const targets: readonly Target[] = [
  ...quantizerTargets,
  ...codecTargets,
  ...plannerTargets,
  ...windowTargets,
];
