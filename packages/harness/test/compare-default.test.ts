/** The default capture: figures that theory expects, and thresholds from tokens that it does not hold. */
import { type CalibrationSample, referenceBackend } from '@lowbit-kv/core';
import { expect, it } from 'vitest';
import { defaultCalibrationPath } from '../src/default-capture-facts.js';
import {
  compareSchemes,
  defaultCapturePath,
  type MeasuredRow,
  openCapture,
  openSafetensors,
} from '../src/index.js';
import { affine, bandScheme, scheme } from './support/schemes.js';

const four = scheme(
  'four',
  affine(4, 'tokens', 32, { recent: 0, flush: 128 }),
  affine(4, 'channels', 32, { recent: 128, flush: 1 }),
);
const seen: CalibrationSample[] = [];
const calibrated = bandScheme('calibrated', seen);
const capture = await openCapture(defaultCapturePath());
const report = await compareSchemes({
  capture,
  schemes: [four, calibrated],
  backend: referenceBackend(),
});
const rowOf = (id: string) => report.schemes.find((row) => row.id === id) as MeasuredRow;

it('gives 4-bit errors near those of normal data, and exact f16', () => {
  const row = rowOf('four');
  expect(rowOf('f16').output.worstHead.nmse).toBeLessThan(1e-13);
  // 4-bit affine groups of 32 on normal data: 0.078 sigma, NMSE 0.0061. Keys have a mean per channel, so theirs is less.
  expect(row.value.packedNmse).toBeGreaterThan(0.0061 / 1.5);
  expect(row.value.packedNmse).toBeLessThan(0.0061 * 1.5);
  expect(row.key.packedNmse).toBeGreaterThan(0.0061 / 6);
  expect(row.key.packedNmse).toBeLessThan(0.0061);
  expect(row.output.nmse).toBeGreaterThan(1e-3);
  expect(row.output.nmse).toBeLessThan(0.01);
  expect(row.bits.packed?.total).toBe(5);
  expect(row.verdict.level).toBe('safe');
});

it('describes the data as data/README.md does, and the whole model', () => {
  expect(report.capture).toMatchObject({ modelLayers: 30, layers: [0, 10, 18, 29] });
  const [, , third] = report.capture.data;
  expect(third?.keyChannelOutliers.map((ratio) => ratio?.toFixed(1))).toEqual([
    '3.9',
    '4.5',
    '7.1',
  ]);
  expect(report.capture.data.map((layer) => layer.valueRootMeanSquare?.toFixed(3))).toEqual([
    '0.044',
    '0.561',
    '1.071',
    '1.645',
  ]);
});

it('calibrates on held-out tokens', async () => {
  expect(rowOf('calibrated').calibration).toEqual({
    source: 'held-out',
    description: 'held-out tokens 1024..1535 of the text; the capture is tokens 0..1023',
  });
  expect(seen).toHaveLength(8);
  expect(rowOf('calibrated').output.nmse).toBeLessThan(0.05);
  // None of the sample's key rows is in the capture.
  const evaluated = new Set<string>();
  for (const layer of capture.layers) {
    const { key } = await capture.readLayer(layer);
    for (let at = 0; at < key.length; at += 64) evaluated.add(key.subarray(at, at + 64).join());
  }
  const sample = await openSafetensors(defaultCalibrationPath());
  let rows = 0;
  for (const layer of capture.layers) {
    const key = await sample.readF16(`layers.${layer}.key`);
    for (let at = 0; at < key.length; at += 64, rows++)
      expect(evaluated.has(key.subarray(at, at + 64).join())).toBe(false);
  }
  expect(rows).toBe(4 * 3 * 512);
  expect(sample.metadata.get('positions')).toBe('1024..1535');
  await sample.close();
});
