/**
 * A small program that does everything once, for tests that run it again and again.
 */
import { asymmetric, symmetric } from '../testing/inline-schemes.js';
import type { Command, StepCommand } from './commands.js';
import { type Setup, setupOf } from './setups.js';

/** Keys along tokens with measured factors, values along channels, sinks and windows. */
export function fixedSetup(): Setup {
  return setupOf({
    key: asymmetric(4, 'tokens', 8, { recent: 4, flush: 8 }),
    value: symmetric(3, 'full', 'channels', 8, { recent: 3, flush: 1 }),
    keyTransforms: ['scale'],
    valueTransforms: [],
    statisticsTokens: 6,
    lastLayerF16: false,
    headOverride: null,
    sinks: 2,
    packing: 'before-attention',
    rotary: null,
    slidingWindow: null,
    softCap: null,
    rollback: 0,
    blockTokens: 16,
    tokens: 120,
    sequences: 4,
  });
}

function step(pick: number, tokens: number, end: StepCommand['end'], seed: number): StepCommand {
  const entries = [
    { pick, tokens },
    { pick: pick + 1, tokens: 2 },
  ];
  return { kind: 'step', entries, end, badLayer: 1, lessQueries: 0, meanwhile: true, seed };
}

/** Every kind of command. */
export const fixedProgram: readonly Command[] = [
  { kind: 'create' },
  { kind: 'create' },
  step(0, 20, 'commit', 1),
  { kind: 'fork', pick: 0 },
  step(2, 9, 'commit', 2),
  step(1, 3, 'abandon', 3),
  step(0, 3, 'missing', 4),
  { kind: 'truncate', pick: 2, back: 5 },
  { kind: 'reorder', picks: [0, 1] },
  { kind: 'attend', picks: [0, 1], queries: 3 },
  { kind: 'restore', picks: [0] },
  { kind: 'move' },
  { kind: 'reset', pick: 1 },
  { kind: 'dispose', pick: 3 },
  step(0, 1, 'commit', 5),
];
