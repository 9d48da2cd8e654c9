/**
 * The blocks of docs that are programs.
 */
import type { Program } from './programs.js';

export const GUIDE_PROGRAMS: Readonly<Record<string, Program>> = {
  'docs/concepts.md#2': {
    holds: "codes.join() === '0,1,2,3' && decoded.join() === '-1,0,1,2'",
  },
  'docs/concepts.md#3': { holds: 'Math.abs(merged - whole) < 1e-12 && whole > 20' },
};
