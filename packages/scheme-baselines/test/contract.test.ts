// The contract that core holds every scheme to, for every preset.
import { describeScheme } from '@lowbit-kv/core/contract';
import { presets } from '../src/index.js';

// The default limit for 8 bits is that of uniform codes; E4M3 has three bits of mantissa.
const FLOAT_ERROR = { relativeError: { key: 0.03, value: 0.03 } };

for (const preset of presets) describeScheme(preset, preset.id === 'fp8-e4m3' ? FLOAT_ERROR : {});
