// Everything that core asks of a scheme and of its codecs.
import { describeScheme } from '@lowbit-kv/core/contract';
import { ternary } from '../src/index.js';

describeScheme(ternary);
