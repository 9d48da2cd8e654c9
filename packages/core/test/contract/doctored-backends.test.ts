// The contract suite catches what it is for: backends with one fault each fail the check that names it.
import { expect, test } from 'vitest';
import { backendChecks } from '../../src/contract/index.js';
import type { Backend } from '../../src/index.js';
import * as doctored from '../support/doctored-backends.js';

/** What the first check with this beginning of its name throws. */
async function failure(backend: Backend, name: string): Promise<string> {
  const found = backendChecks(backend).find((check) => check.name.startsWith(name));
  if (found === undefined) throw new Error(`no check ${name}`);
  expect(found.skipped).toEqual([]);
  try {
    await found.run();
    return 'passed';
  } catch (error) {
    return String(error);
  }
}

const faults: [fault: string, backend: Backend, check: string, message: RegExp][] = [
  ['all-zero output', doctored.zeroOutput(), 'plan: asymmetric 4 bit', /output: nmse 1 /],
  ['all-zero output', doctored.zeroOutput(), 'exact: pointer data, affine', /pointing at token 0/],
  ['swapped heads', doctored.swappedHeads(), 'plan: sinks, windows', /output: nmse/],
  ['swapped heads', doctored.swappedHeads(), 'exact: pointer data, f16', /pointing at token 0/],
  [
    'stale scale',
    doctored.staleScale(),
    'plan: asymmetric 4 bit along tokens',
    /nmse|byte for byte/,
  ],
  ['stale scale', doctored.staleScale(), 'plan: symmetric full 3 bit along channels', /nmse|byte/],
  ['scales too small', doctored.shortScalesTooSmall(), 'plan: powers of two', /nmse|byte/],
  ['scales too small', doctored.shortScalesTooSmall(), 'plan: e4m3 scales', /nmse|byte/],
  ['outliers misplaced', doctored.outliersBesideTheirChannels(), 'plan: top outliers', /nmse|byte/],
  [
    'outliers misplaced',
    doctored.outliersBesideTheirChannels(),
    'ties: top outliers',
    /byte|corner/,
  ],
  ['other levels', doctored.otherLevels(), 'plan: a table of 253 levels', /nmse|byte/],
  ['other levels', doctored.otherLevels(), 'plan: calibrated tables', /nmse|byte/],
  ['newest token unseen', doctored.forgetsNewest(), 'plan: nothing packed', /nmse/],
  ['newest token unseen', doctored.forgetsNewest(), 'exact: pointer data, f16', /the mean|token/],
  ['packs one token late', doctored.packsOneLate(), 'plan: sinks, windows', /nmse|byte for byte/],
  [
    'sliding window one longer',
    doctored.geometryFault(({ slidingWindow }) => ({
      slidingWindow: slidingWindow && { ...slidingWindow, size: slidingWindow.size + 1 },
    })),
    'plan: a sliding window',
    /nmse|log-sum-exp/,
  ],
  [
    'sliding window without its sinks',
    doctored.geometryFault(({ slidingWindow }) => ({
      slidingWindow: slidingWindow && { ...slidingWindow, sinks: 0 },
    })),
    'plan: a sliding window, sinks',
    /nmse|log-sum-exp/,
  ],
  ['no soft cap', doctored.geometryFault(() => ({ softCap: null })), 'plan: a soft cap', /nmse/],
  [
    'default scale',
    doctored.geometryFault(({ keyHeadDim }) => ({ scale: keyHeadDim ** -0.5 })),
    'plan: a scale of its own',
    /nmse/,
  ],
  ['binary logarithm', doctored.binaryLogarithm(), 'plan: asymmetric 4 bit', /log-sum-exp/],
  ['no copy on write', doctored.copiesNothing(), 'fork and copy on write', /parent|nmse|byte/],
  [
    'no statistics',
    doctored.keepsStatistics(),
    'plan: channel scale of keys',
    /nmse|byte for byte/,
  ],
  [
    'no signs',
    doctored.transformFault((step) => (step.kind === 'hadamard' ? { kind: 'hadamard' } : step)),
    'plan: signed rotations',
    /nmse|byte for byte/,
  ],
  [
    'signs of another seed',
    doctored.transformFault((step) =>
      step.kind === 'hadamard' ? { kind: 'hadamard', seed: 1 } : step,
    ),
    'plan: signed rotations',
    /nmse|byte for byte/,
  ],
  [
    'every mean subtracted',
    doctored.transformFault((step) =>
      'minimumOffset' in step ? { ...step, minimumOffset: 0 } : step,
    ),
    'plan: clear channel means',
    /nmse|byte for byte/,
  ],
  [
    'another target of the tensor scale',
    doctored.transformFault((step) => ('largest' in step ? { ...step, largest: 447 } : step)),
    'plan: tensor scales',
    /nmse|byte for byte/,
  ],
  [
    'the order of channels the other way round',
    doctored.calibrationFault(({ channelOrder }) => ({
      channelOrder: channelOrder.map((order) => order.map((_, c) => order.indexOf(c))),
    })),
    'plan: channel orders',
    /nmse|byte for byte/,
  ],
  [
    'factors of another head',
    doctored.calibrationFault(({ channelFactors }) => ({
      channelFactors: channelFactors.toReversed(),
    })),
    'plan: calibrated channel scales',
    /nmse|byte for byte/,
  ],
  [
    'calibrated means of another head',
    doctored.calibrationFault(({ channelMeans }) => ({ channelMeans: channelMeans.toReversed() })),
    'plan: calibrated channel means',
    /nmse|byte for byte/,
  ],
  [
    'a tensor factor a little off',
    doctored.calibrationFault(({ tensorFactor }) => ({ tensorFactor: tensorFactor * 1.001 })),
    'plan: calibrated tensor scales',
    /nmse|byte for byte/,
  ],
  [
    'keys taken as rotated',
    doctored.geometryFault(() => ({ rotary: null })),
    'plan: keys before the rotary embedding, in halves',
    /nmse/,
  ],
  [
    'the other layout of pairs',
    doctored.geometryFault(({ rotary }) => ({ rotary: rotary && { ...rotary, pairs: 'halves' } })),
    'plan: keys before the rotary embedding, adjacent',
    /nmse/,
  ],
  [
    'all channels rotated',
    doctored.geometryFault(({ rotary }) => ({
      rotary: rotary && { ...rotary, frequencies: [...rotary.frequencies, 0.001] },
    })),
    'plan: keys before the rotary embedding, adjacent',
    /nmse/,
  ],
  [
    'the layout of the first layer everywhere',
    doctored.geometryFault(({ rotary }) => ({ rotary: rotary && { ...rotary, pairs: 'halves' } })),
    'plan: embeddings that differ by layer',
    /nmse/,
  ],
  ['restored pages lost', doctored.losesRestoredPages(), 'snapshot of one backend', /restored/],
  ['subnormals flushed', doctored.flushesSubnormals(), 'subnormals', /corner data|byte for byte/],
  [
    'heads stored apart taken for whole layers',
    doctored.takesUnitsForLayers(),
    'plan: heads of their own, statistics',
    /nmse|log-sum-exp|shape|elements/,
  ],
  ['bytes miscounted', doctored.miscountsBytes(), 'bytes: ', /allocatedBytes/],
  ['everything refused', doctored.refusesEverything(), 'executes at least one', /refuses all/],
  ['refused without a reason', doctored.refusesEverything([]), 'executes', /without a reason/],
];

test.each(faults)('%s: %#', async (_fault, backend, check, message) => {
  expect(await failure(backend, check)).toMatch(message);
});

test('what a backend refuses is skipped with the reason, and the rest is run', async () => {
  const checks = backendChecks(doctored.onlyHeadDim(64));
  const skipped = checks.filter((check) => check.skipped.length > 0);
  expect(new Set(skipped.flatMap((check) => check.skipped))).toEqual(
    new Set(['head dims other than 64 are not executed']),
  );
  expect(skipped.map(({ name }) => name)).toContain('plan: head dims 80 and 80');
  expect(skipped.length).toBeLessThan(checks.length / 2);
  const support = checks.find(({ name }) => name.startsWith('executes at least one'));
  await expect(support?.run()).resolves.toBeUndefined();
});

test.each([
  [[/^head dims other than/], null],
  [[/a reason/, /^head dims/], null],
  [[/a reason/], /refused for what it may not be: head dims other than 64/],
  [[], /refused for what it may not be: head dims other than 64/],
] as const)('reasons that plans may be refused for: %s', async (mayRefuse, message) => {
  const checks = backendChecks(doctored.onlyHeadDim(64), { mayRefuse });
  const run = checks.find(({ name }) => name.startsWith('executes at least one'))?.run();
  if (message === null) await expect(run).resolves.toBeUndefined();
  else await expect(run).rejects.toThrow(message);
});

test('shares of the plans make the whole, and leave every other check where it is', () => {
  const namesOf = (share?: { part: number; of: number }) =>
    backendChecks(doctored.onlyHeadDim(64), share && { share }).map(({ name }) => name);
  const whole = namesOf();
  const parts = [0, 1, 2].map((part) => namesOf({ part, of: 3 }));
  const isPlan = (name: string) => name.startsWith('plan: ');
  expect(new Set(parts.flat())).toEqual(new Set(whole));
  for (const part of parts) {
    expect(part.filter((name) => !isPlan(name))).toEqual(whole.filter((name) => !isPlan(name)));
    expect(part.filter(isPlan).length * 3 - whole.filter(isPlan).length).toBeLessThan(3);
  }
});
