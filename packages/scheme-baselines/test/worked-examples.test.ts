// Tokens quantized by hand: decoded values, packed bytes and parameters of each format, keys and values alike.
import { expect, test } from 'vitest';
import { blockFormat, tokenHead } from '../src/index.js';
import { both, channels, pack } from './support/pack-token.js';

test.each(both)('int4 asymmetric: %s', async (tensor) => {
  // Minimum -3, maximum 4.5: scale 7.5 / 15 = 0.5. (x + 3) / 0.5 = 0, 15, 0.5, 1.5, 14.4, 6.
  const token = channels([-3, 4.5, -2.75, -2.25, 4.2, 0]);
  const packed = await pack(tokenHead({ bits: 4, mode: 'asymmetric' }), token, tensor);
  expect(packed.decoded).toEqual(channels([-3, 4.5, -3, -2, 4, 0]));
  expect(packed.codes).toEqual([0xf0, 0x20, 0x6e, ...new Array(29).fill(0x66)]);
  expect([packed.scales, packed.zeros]).toEqual([[0x3800], [0xc200]]);
});

test.each(both)('int4 symmetric: %s', async (tensor) => {
  // Largest magnitude 7: scale 1. Ties go to even: 3.5 to 4, 2.5 to 2, -2.5 to -2.
  const token = channels([7, -7, 3.5, 2.5, -2.5, 0.6]);
  const packed = await pack(tokenHead({ bits: 4, mode: 'symmetric' }), token, tensor);
  expect(packed.decoded).toEqual(channels([7, -7, 4, 2, -2, 1]));
  expect(packed.codes).toEqual([0x97, 0x24, 0x1e, ...new Array(29).fill(0)]);
  expect([packed.scales, packed.zeros]).toEqual([[0x3c00], []]);
});

test.each(both)('int8 asymmetric: %s', async (tensor) => {
  // Minimum -1, maximum 254: scale 1. x + 1 = 0, 255, 1.5, 2.5, 101.25, 1.
  const token = channels([-1, 254, 0.5, 1.5, 100.25]);
  const packed = await pack(tokenHead({ bits: 8, mode: 'asymmetric' }), token, tensor);
  expect(packed.decoded).toEqual(channels([-1, 254, 1, 1, 100]));
  expect(packed.codes).toEqual([0, 255, 2, 2, 101, ...new Array(59).fill(1)]);
  expect([packed.scales, packed.zeros]).toEqual([[0x3c00], [0xbc00]]);
});

test.each(both)('int8 symmetric: %s', async (tensor) => {
  const token = channels([127, -127, -126.5, 1.5, 0.5, -3.75]);
  const packed = await pack(tokenHead({ bits: 8, mode: 'symmetric' }), token, tensor);
  expect(packed.decoded.map((x) => x + 0)).toEqual(channels([127, -127, -126, 2, 0, -4]));
  expect(packed.codes).toEqual([127, 129, 130, 2, 0, 252, ...new Array(58).fill(0)]);
  expect([packed.scales, packed.zeros]).toEqual([[0x3c00], []]);
});

test.each(both)('q8_0: %s, two blocks with scales of their own', async (tensor) => {
  // Scales 127 / 127 = 1 and 63.5 / 127 = 0.5.
  const token = channels([]);
  token.splice(0, 3, -127, 10.3, -0.6);
  token.splice(32, 3, 63.5, 10.3, -0.6);
  const packed = await pack(blockFormat({ keys: 'q8_0', values: 'q8_0' }), token, tensor);
  const decoded = channels([]);
  decoded.splice(0, 3, -127, 10, -1);
  decoded.splice(32, 3, 63.5, 10.5, -0.5);
  expect(packed.decoded).toEqual(decoded);
  expect(packed.codes.slice(0, 3)).toEqual([129, 10, 255]);
  expect(packed.codes.slice(32, 35)).toEqual([127, 21, 255]);
  expect(packed.scales).toEqual([0x3c00, 0x3800]);
});

test.each(both)('q4_0: %s, the largest magnitude is code -8 in either sign', async (tensor) => {
  // -8 gives the scale 1 and clips +7.5 to 7. +4 gives -0.5 and clips -4 to -3.5.
  const token = channels([]);
  token.splice(0, 4, -8, 7.5, 7, 0.6);
  token.splice(32, 4, 4, -4, -3.5, 1.1);
  const packed = await pack(blockFormat({ keys: 'q4_0', values: 'q4_0' }), token, tensor);
  const decoded = channels([]);
  decoded.splice(0, 4, -8, 7, 7, 1);
  decoded.splice(32, 4, 4, -3.5, -3.5, 1);
  expect(packed.decoded.map((x) => x + 0)).toEqual(decoded);
  expect(packed.codes.slice(0, 2)).toEqual([0x78, 0x17]);
  expect(packed.codes.slice(16, 18)).toEqual([0x78, 0xe7]);
  expect(packed.scales).toEqual([0x3c00, 0xb800]);
});

test('q8_0 keys with q4_0 values', async () => {
  const scheme = blockFormat({ keys: 'q8_0', values: 'q4_0' });
  const token = channels([-8, 7.5]);
  // 7.5 / (8 / 127) = 119.06, and f16 rounds the scale 0.06299 to 0.06298828125.
  const keys = (await pack(scheme, token, 'key')).decoded;
  expect(keys.slice(0, 2)).toEqual([-127 * 0.06298828125, 119 * 0.06298828125]);
  expect((await pack(scheme, token, 'value')).decoded.slice(0, 2)).toEqual([-8, 7]);
});
