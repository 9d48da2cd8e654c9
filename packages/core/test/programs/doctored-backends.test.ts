// Random programs catch what they are for: backends with one fault each differ from the model within a few rounds.
import { expect, it } from 'vitest';
import type { Backend } from '../../src/index.js';
import { runRound, Tally } from '../../src/programs/index.js';
import * as doctored from '../support/doctored-backends.js';

/** Rounds of a few programs each, in which a fault must show. */
const ROUNDS = 12;

/** What the first round that fails throws. */
async function failure(backend: Backend): Promise<string> {
  for (let seed = 1; seed <= ROUNDS; seed++) {
    try {
      await runRound(backend, seed, new Tally(), { shrink: false });
    } catch (error) {
      return String(error);
    }
  }
  return 'passed';
}

const faults: [fault: string, backend: Backend, message: RegExp][] = [
  ['all-zero output', doctored.zeroOutput(), /attention of layer . over/],
  ['swapped heads', doctored.swappedHeads(), /attention of layer . over/],
  ['binary logarithm', doctored.binaryLogarithm(), /log-sum-exp/],
  ['newest token unseen', doctored.forgetsNewest(), /attention of layer/],
  ['packs one token late', doctored.packsOneLate(), /block|at \d|attention/],
  ['stale scale', doctored.staleScale(), /block|at \d/],
  ['no copy on write', doctored.copiesNothing(), /block|at \d|attention/],
  ['no statistics', doctored.keepsStatistics(), /block|at \d|attention/],
  ['restored pages are lost', doctored.losesRestoredPages(), /snapshot/],
  ['units taken for layers', doctored.takesUnitsForLayers(), /attention of layer/],
  ['no soft cap', doctored.geometryFault(() => ({ softCap: null })), /attention of layer/],
  ['keys taken as turned', doctored.geometryFault(() => ({ rotary: null })), /attention of layer/],
  [
    'sliding window one longer',
    doctored.geometryFault(({ slidingWindow }) => ({
      slidingWindow: slidingWindow && { ...slidingWindow, size: slidingWindow.size + 1 },
    })),
    /attention of layer/,
  ],
  [
    'other factors',
    doctored.calibrationFault(({ tensorFactor }) => ({ tensorFactor: tensorFactor * 1.001 })),
    /block|at \d|attention/,
  ],
];

it.each(faults)('%s', async (_, backend, message) => {
  expect(await failure(backend)).toMatch(message);
});
