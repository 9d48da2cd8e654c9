// The contract that core holds every scheme to, for every preset within six days: they differ in sizes only.
import { describeScheme } from '@lowbit-kv/core/contract';
import { elementsOf, shareOfToday } from '../../core/test/support/share-of-today.js';
import { presets } from '../src/index.js';

const share = shareOfToday('presets of BitDecoding', 6);
for (const preset of elementsOf(presets, share)) describeScheme(preset);
