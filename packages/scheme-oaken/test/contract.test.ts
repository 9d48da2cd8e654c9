// The contract that core holds every scheme to, for every preset, and for keys before the rotary embedding.
import { describeScheme } from '@lowbit-kv/core/contract';
import { oaken, presets } from '../src/index.js';

for (const preset of [...presets, oaken({ stage: 'pre-rope' })]) describeScheme(preset);
