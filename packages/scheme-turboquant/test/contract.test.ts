// The contract that core holds every scheme to, for every preset.
import { describeScheme } from '@lowbit-kv/core/contract';
import { presets } from '../src/index.js';

for (const preset of presets) describeScheme(preset);
