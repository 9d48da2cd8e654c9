// Out of pages at every point: programs on caches of every capacity from one token to enough.
import * as fc from 'fast-check';
import { expect, it } from 'vitest';
import { referenceBackend } from '../../src/index.js';
import { programs, runProgram, setups, Tally } from '../../src/programs/index.js';

const SECONDS = 3;
const LEAST_CAPACITIES = 40;

it('leaves what the model says, at every capacity', async () => {
  const backend = referenceBackend();
  const seed = Number(process.env.LOWBIT_KV_SEED ?? Date.now() % 2 ** 31);
  const tally = new Tally();
  const begin = performance.now();
  let capacities = 0;
  const refused = (): number => tally.of('out of pages') + tally.of('restore out of pages');
  const goesOn = () => capacities < LEAST_CAPACITIES || performance.now() - begin < 1000 * SECONDS;
  for (let round = 0; goesOn(); round++) {
    const sample = fc.record({ setup: setups, program: programs() });
    const [drawn] = fc.sample(sample, { seed: seed + round, numRuns: 1 });
    if (drawn === undefined) throw new Error('nothing was drawn');
    // Larger steps where one token more changes little.
    for (let tokens = 1; tokens < 400 && goesOn(); tokens += 1 + (tokens >> 4)) {
      const before = refused();
      try {
        await runProgram(backend, { ...drawn.setup, tokens }, drawn.program, { tally });
      } catch (cause) {
        throw new Error(`capacity of ${tokens} tokens, seed ${seed + round}`, { cause });
      }
      capacities++;
      if (refused() === before) break;
    }
  }
  console.info(`out of pages: seed ${seed}, ${capacities} capacities: ${tally}`);
  expect(refused()).toBeGreaterThan(10);
}, 120_000);
