// Sizes of schemes that need more than a geometry: calibration of every kind, and a rotary embedding.
import type { Transform } from '@lowbit-kv/core';
import { asymmetric, bands, inlineScheme, levelTable } from '@lowbit-kv/core/testing';
import { expect, test } from 'vitest';
import { planForSizes } from '../src/schemes/scheme-summary.js';

const geometry = { layers: 2, queryHeads: 4, kvHeads: 2, keyHeadDim: 64, valueHeadDim: 96 };

test('calibrated values of every kind and a rotary embedding are filled in', () => {
  const transforms = (['tensorScale', 'channelScale', 'channelMean', 'channelOrder'] as const).map(
    (kind): Transform => ({ kind, scope: 'model' }),
  );
  const table = { levels: 'calibrated', scaledBy: 'absoluteMaximum' } as const;
  const scheme = inlineScheme({
    key: { ...levelTable(3, table, 'channels', 32), transforms, stage: 'pre-rope' },
    value: { ...bands('midRise', 'head'), transforms },
  });
  const plain = inlineScheme({ key: asymmetric(3, 'channels', 32), value: { bits: 16 } });
  const plan = planForSizes(scheme, geometry);
  expect(plan.layers.length).toBe(2);
  expect(plan.calibration?.layers[1]?.value?.channelOrder?.[1]?.length).toBe(96);
  // Transforms and tables change no codes plane.
  const codes = planForSizes(plain, geometry).layers[0]?.key.layout?.codes;
  expect(plan.layers[0]?.key.layout?.codes).toEqual(codes);
});
