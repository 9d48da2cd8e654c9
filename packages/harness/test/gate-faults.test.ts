/** A broken scheme and broken backends fail the built-in gate, and the message has the name of what is broken. */
import { referenceBackend } from '@lowbit-kv/core';
import { describe, expect, it } from 'vitest';
import { checkGate, compareSchemes } from '../src/index.js';
import {
  doctoredBackend,
  type Fault,
  FORGET_PACKED,
  hideNewest,
  packOneLater,
  scaleOfNeighbour,
  swapChannels,
  ZERO_OUTPUT,
} from './support/doctored-backend.js';
import { builtInFailures, compared } from './support/gates.js';
import { affine, channelwise, scheme } from './support/schemes.js';
import { syntheticCapture } from './support/synthetic-capture.js';

const EIGHT = channelwise('eight', 8);
/** Keys with an outlier channel share groups over channels, in 2 bits: the small channels are lost. */
const BROKEN = scheme(
  'broken',
  affine(2, 'channels', 32, { recent: 0, flush: 1 }),
  affine(8, 'channels', 32, { recent: 0, flush: 1 }),
);

it('passes a good scheme on an honest backend', async () => {
  expect(builtInFailures(await compared([EIGHT]))).toEqual([]);
});

it('names the broken scheme, its worst head and worst layer, and not its neighbour', async () => {
  const report = await compared([EIGHT, BROKEN]);
  expect(builtInFailures(report)).toEqual([
    expect.stringMatching(/^broken fails output\.worstHead>0\.25: .* at layer [25] head \d$/),
    expect.stringMatching(/^broken fails output\.worstLayer>0\.1: .* at layer [25]$/),
  ]);
});

describe('a backend', () => {
  it.each<[string, Fault, RegExp]>([
    ['that gives zeros', ZERO_OUTPUT, /fails every gate: invalid: .*output-not-empty.*all zero/],
    ['that hides the newest token', hideNewest(1), /invalid: .*attention-reads-cache/],
    ['that swaps key channels', swapChannels('key'), /output\.worstHead>0\.25: .* at layer/],
    ['that swaps value channels', swapChannels('value'), /output\.worstHead>0\.25: .* at layer/],
    ['whose key window is off by one', packOneLater('key'), /output\.worstHead>0\.25/],
    ['that takes scales of a neighbour', scaleOfNeighbour('key'), /output\.worstHead>0\.25/],
    ['that forgets what it packed', FORGET_PACKED, /output\.worstHead>0\.25/],
  ])('%s', async (_, fault, message) => {
    const [first] = builtInFailures(await compared([EIGHT], doctoredBackend(fault)));
    expect(first).toMatch(message);
    expect(first).toMatch(/^eight fails/);
  });
});

it('data like random numbers fail: they would pass any scheme with groups over channels', async () => {
  const capture = await syntheticCapture({ keyChannels: [] });
  const report = await compareSchemes({ capture, schemes: [EIGHT], backend: referenceBackend() });
  expect(report.schemes[1]?.verdict.level).toBe('safe');
  const { failures } = checkGate(report, { builtIn: true });
  expect(failures).toMatchObject([
    { scheme: null, metric: 'capture.data.keyChannelOutliers', limit: 2 },
  ]);
  expect(failures[0]?.message).toMatch(/look like random numbers: .*\(layer \d head \d\)/);
  expect(failures[0]?.value).toBeGreaterThan(1);
  expect(failures[0]?.value).toBeLessThan(1.9);
  // Conditions of one's own are judged on any data.
  expect(checkGate(report, { conditions: [] }).passed).toBe(true);
});
