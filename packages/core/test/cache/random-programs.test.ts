// Random programs on random plans: the cache against a model that keeps plain arrays.
import * as fc from 'fast-check';
import { expect, it } from 'vitest';
import { commands, setups } from '../support/cache-programs.js';
import { Runner, type Tally } from '../support/cache-runner.js';

/** A longer search: LOWBIT_KV_PROPERTY_RUNS=5000. */
const RUNS = Number(process.env.LOWBIT_KV_PROPERTY_RUNS ?? 100);
const TIME_LIMIT_MS = 80 * Math.max(RUNS, 100);

it(
  'behaves like the model, step by step',
  async () => {
    const tally: Tally = {};
    await fc.assert(
      fc.asyncProperty(setups, commands, async (setup, program) => {
        const runner = await Runner.open(setup, tally);
        await runner.run(program);
        tally.programs = (tally.programs ?? 0) + 1;
      }),
      { numRuns: RUNS, interruptAfterTimeLimit: TIME_LIMIT_MS, endOnFailure: true, verbose: 1 },
    );
    // A slow machine may stop early, but never before it has done a part.
    expect(tally.programs ?? 0).toBeGreaterThan(10);
    if ((tally.programs ?? 0) < RUNS) return;
    // The generator must reach what it is there for; the rare things in a longer search.
    const common = [
      'committed steps',
      'abandoned steps',
      'failed steps',
      'truncations',
      'blocks compared',
      'layers of several units compared',
      'attended before packing',
      'attended after packing',
      'committed attention',
      'keys rotated in attention',
    ];
    const rare = ['restored', 'out of pages', 'refused queries', 'refused truncations'];
    for (const name of RUNS < 1000 ? common : [...common, ...rare])
      expect(tally[name] ?? 0, name).toBeGreaterThan(0);
  },
  10 * TIME_LIMIT_MS,
);
