// The contract that core holds every scheme to, for every preset.
import { describeScheme } from '@lowbit-kv/core/contract';
import { compatPresets } from '../src/compat/index.js';
import { presets } from '../src/index.js';

for (const preset of presets) describeScheme(preset);
// The authors' arithmetic breaks on groups whose range exceeds f16, and so must these.
for (const preset of compatPresets) describeScheme(preset, { mayOverflow: true });
