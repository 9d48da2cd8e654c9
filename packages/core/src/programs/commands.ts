/**
 * Arbitrary programs: what a cache can be asked to do.
 */
import * as fc from 'fast-check';
import { LAYERS } from './setups.js';

/** Numbers pick among what is alive, modulo its count. */
export type Command =
  | { readonly kind: 'create' }
  | StepCommand
  | { readonly kind: 'truncate'; readonly pick: number; readonly back: number }
  | { readonly kind: 'fork' | 'reset' | 'dispose'; readonly pick: number }
  | { readonly kind: 'reorder' | 'restore'; readonly picks: readonly number[] }
  /** Everything into a new cache, through a snapshot; the program goes on there. */
  | { readonly kind: 'move' }
  | { readonly kind: 'attend'; readonly picks: readonly number[]; readonly queries: number };

export interface StepCommand {
  readonly kind: 'step';
  readonly entries: readonly { readonly pick: number; readonly tokens: number }[];
  readonly end: 'commit' | 'abandon' | 'missing' | 'non-finite';
  readonly badLayer: number;
  /** Attention in the step has so many queries less than tokens. */
  readonly lessQueries: number;
  /** Sequences that are not in the step attend while it is open. */
  readonly meanwhile: boolean;
  readonly seed: number;
}

const pick = fc.nat(100);
const picks = fc.array(pick, { minLength: 1, maxLength: 4 });
const stepTokens = fc.oneof(
  { arbitrary: fc.integer({ min: 0, max: 3 }), weight: 2 },
  { arbitrary: fc.integer({ min: 4, max: 45 }), weight: 2 },
);

const step = fc.record({
  kind: fc.constant('step' as const),
  entries: fc.array(fc.record({ pick, tokens: stepTokens }), { minLength: 1, maxLength: 3 }),
  end: fc.oneof(
    { arbitrary: fc.constant('commit' as const), weight: 4 },
    { arbitrary: fc.constantFrom('abandon', 'missing', 'non-finite'), weight: 3 },
  ),
  badLayer: fc.nat(LAYERS - 1),
  lessQueries: fc.nat(3),
  meanwhile: fc.boolean(),
  seed: fc.nat(2 ** 31),
});

const truncate = fc.record({
  kind: fc.constant('truncate' as const),
  pick,
  back: fc.oneof(fc.nat(6), fc.nat(30), fc.constant(1e6)),
});

const command: fc.Arbitrary<Command> = fc.oneof(
  { arbitrary: step, weight: 16 },
  { arbitrary: truncate, weight: 6 },
  { arbitrary: fc.record({ kind: fc.constant('create' as const) }), weight: 2 },
  {
    arbitrary: fc.record({ kind: fc.constantFrom('fork', 'fork', 'reset', 'dispose'), pick }),
    weight: 4,
  },
  { arbitrary: fc.record({ kind: fc.constantFrom('reorder', 'restore'), picks }), weight: 3 },
  { arbitrary: fc.record({ kind: fc.constant('move' as const) }), weight: 1 },
  {
    arbitrary: fc.record({
      kind: fc.constant('attend' as const),
      picks,
      queries: fc.integer({ min: 0, max: 12 }),
    }),
    weight: 4,
  },
);

/** A program of at most so many operations. */
export function programs(longest = 30): fc.Arbitrary<Command[]> {
  return fc.array(command, { minLength: 1, maxLength: longest, size: 'max' });
}
