/** Layers in refusals are those of the model, not places in the capture. */
import { referenceBackend, type Scheme } from '@lowbit-kv/core';
import { expect, it } from 'vitest';
import { compareSchemes, tuneScheme } from '../src/index.js';
import { affine, bandScheme, scheme } from './support/schemes.js';
import { syntheticCapture } from './support/synthetic-capture.js';

const four = affine(4, 'channels', 32, { recent: 0, flush: 1 });

async function reasonOf(subject: Scheme): Promise<string> {
  const { schemes } = await compareSchemes({
    capture: await syntheticCapture({ layers: [2, 5] }),
    schemes: [subject],
    backend: referenceBackend(),
    modelLayers: 6,
  });
  const row = schemes[1];
  if (row === undefined || !('reason' in row)) throw new Error('was measured');
  return row.reason;
}

it('what cannot be planned', async () => {
  const heads = scheme('heads', four, four, {
    overrides: [{ layers: [5], heads: [7], key: { bits: 16 } }],
  });
  expect(await reasonOf(heads)).toMatch(/kv head that the layer does not have \(layer 5\)/);
});

const { calibration, key } = bandScheme('bands');
const nothing = { outerLow: -60000, innerLow: 0, innerHigh: 0, outerHigh: 60000 };
const layersOf = (second: typeof nothing) =>
  [nothing, second].map((thresholds) => ({ key: { thresholds }, value: { thresholds } }));

it('what tuning leaves out', async () => {
  const wrong = scheme('wrong', key, key, {
    calibration,
    calibrate: async () => layersOf({ ...nothing, outerLow: 1 }),
  });
  const { leftOut } = await tuneScheme({
    capture: await syntheticCapture({ layers: [2, 5] }),
    presets: [wrong, scheme('four', four, four)],
    budgetBits: 5,
    backend: referenceBackend(),
    windows: { sinks: 0, recent: 8 },
    positions: 4,
  });
  const reasons = leftOut.map(({ reason }) => reason);
  expect(reasons).toHaveLength(2);
  for (const reason of reasons) expect(reason).toMatch(/out of order.*layer 5/);
});
