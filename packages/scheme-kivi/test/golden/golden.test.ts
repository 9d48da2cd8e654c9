// The authors' results, computed by their own code: the codec bit for bit, the normative quantizer by the tie rule.
import { expect, test } from 'vitest';
import { readCounts } from '../../../core/test/support/golden-file.js';
import { cases, compareCodec, compareNormative } from './cases.js';

interface IndexEntry {
  readonly key: string;
  readonly n: number;
  readonly ngroups_ok: number;
  readonly codes_differ: number;
  readonly scale_differ: number;
}

const counts = readCounts<IndexEntry>('kivi');

test('the files hold what they are known to hold', () => {
  expect(cases).toHaveLength(56);
  expect(new Set(cases.map(({ kind }) => kind)).size).toBe(7);
});

test.each(cases)('codec: $key', (one) => {
  const { words, parameters, decoded } = compareCodec(one);
  const elements = one.shape.reduce((product, size) => product * size);
  expect(words).toEqual({ equal: words.of, of: (elements * one.bits) / 32 });
  expect(parameters).toEqual({ equal: parameters.of, of: (2 * elements) / one.group });
  expect(decoded).toEqual({ equal: elements, of: elements });
});

test.each(cases)('normative: $key', (one) => {
  const { codes, scales, faults } = compareNormative(one);
  expect(faults).toEqual([]);
  // What an independent program counted for the same arithmetic.
  const counted = counts(one.key);
  expect({
    groups: scales.of,
    scalesDiffer: scales.of - scales.equal,
    codesDiffer: codes.of - codes.equal,
  }).toEqual({
    groups: counted.ngroups_ok,
    scalesDiffer: counted.scale_differ,
    codesDiffer: counted.codes_differ,
  });
});
