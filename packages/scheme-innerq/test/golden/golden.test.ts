// The authors' results, computed by their own code: f16 arithmetic bit for bit, the normative quantizers by the tie rule.
import { expect, test } from 'vitest';
import { readCounts } from '../../../core/test/support/golden-file.js';
import { cases, compareCompat, compareNormative } from './cases.js';

interface IndexEntry {
  readonly key: string;
  readonly [count: string]: number | string;
}

const counts = readCounts<IndexEntry>('innerq');

test('the files hold what they are known to hold', () => {
  expect(cases).toHaveLength(56);
  expect(new Set(cases.map(({ mode }) => mode)).size).toBe(3);
});

test.each(cases)('f16 arithmetic: $key', (one) => {
  const { codes, parameters, modes, decoded, stored } = compareCompat(one);
  const elements = one.shape.reduce((product, size) => product * size);
  const groups = elements / one.group;
  const whole = (of: number) => ({ equal: of, of });
  const tensors = { sym: 2, asym: 1, hybrid: 3 }[one.mode];
  expect(codes).toEqual(whole(tensors * elements));
  expect(parameters).toEqual(whole({ sym: 1, asym: 2, hybrid: 3 }[one.mode] * groups));
  expect(modes).toEqual(whole(one.mode === 'hybrid' ? groups : 0));
  expect(decoded).toEqual(whole(elements));
  expect(stored).toEqual(whole(elements));
});

test.each(cases)('normative: $key', (one) => {
  const { symmetric, asymmetric, modes, faults } = compareNormative(one);
  expect(faults).toEqual([]);
  const differ = ({ equal, of }: { equal: number; of: number }) => of - equal;
  // What an independent program counted for the same arithmetic.
  const counted = counts(one.key);
  const prefix = one.mode === 'hybrid' ? 'sym_' : '';
  if (one.mode !== 'asym') {
    expect([symmetric.scales.of, differ(symmetric.scales), differ(symmetric.codes)]).toEqual([
      counted[`${prefix}ngroups_ok`],
      counted[`${prefix}scale_differ`],
      counted[`${prefix}codes_differ_f16scale`],
    ]);
  }
  if (one.mode !== 'sym') {
    const asymmetricPrefix = one.mode === 'hybrid' ? 'asym_' : '';
    expect([asymmetric.scales.of, differ(asymmetric.scales), differ(asymmetric.codes)]).toEqual([
      counted[`${asymmetricPrefix}ngroups_ok`],
      counted[`${asymmetricPrefix}scale_differ`],
      counted[`${asymmetricPrefix}codes_differ`],
    ]);
  }
  // The index counts one group whose two errors agree to seven digits; the order of the sum decides there.
  if (one.mode === 'hybrid') expect(differ(modes)).toBeLessThanOrEqual(counted.mode_differ as number);
});
