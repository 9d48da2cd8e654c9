// The contract that core holds every scheme to, for every preset, and without outliers.
import { describeScheme } from '@lowbit-kv/core/contract';
import { kvquant, presets } from '../src/index.js';

for (const scheme of [...presets, kvquant({ bits: 3, outliers: 0, sinks: 0, recent: 8 })])
  describeScheme(scheme);
