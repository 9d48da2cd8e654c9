/** A comparison over a broken backend must fail or say so: each fault is injected into the reference backend's store. */
import { LowbitKvError } from '@lowbit-kv/core';
import { describe, expect, it } from 'vitest';
import { compareSchemes, type MeasuredRow } from '../src/index.js';
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
import { channelwise } from './support/schemes.js';
import { syntheticCapture } from './support/synthetic-capture.js';

async function measure(fault: Fault): Promise<{ row: MeasuredRow; valid: boolean }> {
  const report = await compareSchemes({
    capture: await syntheticCapture(),
    schemes: [channelwise('eight-bit', 8)],
    backend: doctoredBackend(fault),
  });
  const row = report.schemes[1];
  if (row?.status !== 'measured') throw new Error(`not measured: ${row?.verdict.reason}`);
  return { row, valid: report.valid };
}

it('calls 8 bits safe on the honest store', async () => {
  const { row, valid } = await measure({});
  expect(valid).toBe(true);
  expect(row.verdict.level).toBe('safe');
  expect(row.output.worstHead.nmse).toBeLessThan(1e-3);
});

describe('faults that break f16 too are thrown', () => {
  it.each<[string, Fault, RegExp]>([
    ['an output of zeros', ZERO_OUTPUT, /output-not-empty.*all zero/],
    ['a hidden newest token', hideNewest(1), /attention-reads-cache|f16-exact/],
    ['swapped key channels', swapChannels('key'), /f16-exact/],
    ['swapped value channels', swapChannels('value'), /f16-exact/],
  ])('%s', async (_name, fault, message) => {
    const error = await measure({ ...fault, everywhere: true }).catch((e: unknown) => e);
    expect(LowbitKvError.is(error, 'MEASUREMENT_INVALID')).toBe(true);
    expect((error as Error).message).toMatch(message);
  });
});

describe('faults in attention of quantizing plans make the row invalid', () => {
  it.each<[string, Fault, RegExp]>([
    ['an output of zeros', ZERO_OUTPUT, /output-not-empty/],
    ['a window off by one: the newest token is hidden', hideNewest(1), /attention-reads-cache/],
  ])('%s', async (_name, fault, reason) => {
    const { row, valid } = await measure(fault);
    expect(valid).toBe(false);
    expect(row.verdict.level).toBe('invalid');
    expect(row.verdict.reason).toMatch(reason);
  });
});

describe('faults in what is stored show in the figures', () => {
  it.each<[string, Fault, 'key' | 'value']>([
    ['swapped key channels', swapChannels('key'), 'key'],
    ['swapped value channels', swapChannels('value'), 'value'],
    ['a key window off by one', packOneLater('key'), 'key'],
    ['a value window off by one', packOneLater('value'), 'value'],
    ['key scales from the wrong group', scaleOfNeighbour('key'), 'key'],
  ])('%s', async (_name, fault, tensor) => {
    const honest = await measure({});
    const { row } = await measure(fault);
    expect(row[tensor].nmse).toBeGreaterThan(100 * (honest.row[tensor].nmse ?? Number.NaN));
    expect(row.verdict.level).toBe('unsafe');
    // The other tensor is untouched: the fault is found where it is.
    const other = tensor === 'key' ? 'value' : 'key';
    expect(row[other].nmse).toBe(honest.row[other].nmse);
  });
});

it('sees that everything older than the window was lost', async () => {
  const { row } = await measure(FORGET_PACKED);
  expect(row.key.packedNmse).toBe(1);
  expect(row.value.packedNmse).toBe(1);
  expect(row.output.nmse).toBeGreaterThan(0.5);
  expect(row.verdict.level).toBe('unsafe');
});
