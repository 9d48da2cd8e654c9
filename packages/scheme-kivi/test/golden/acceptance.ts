// What the acceptance table says of KIVI, measured.
import { type AcceptanceRow, sumOf, Tally } from '../../../core/test/support/acceptance.js';
import { kiviFp16 } from '../../src/compat/index.js';
import { kivi } from '../../src/index.js';
import { cacheRows, compareEndState, endToEnd, sizeCases } from './cache.js';
import { cases, compareCodec, compareNormative } from './cases.js';

export async function acceptance(): Promise<AcceptanceRow[]> {
  const scheme = 'KIVI';
  const rows: AcceptanceRow[] = [];
  for (const bits of [2, 4]) {
    const results = cases.filter((one) => one.bits === bits).map(compareCodec);
    rows.push({
      scheme,
      mode: 'compat',
      compared: `${bits} bits, all groups of ${results.length} cases, those that the original breaks included`,
      codes: sumOf(results.map(({ words }) => words)),
      parameters: sumOf(results.map(({ parameters }) => parameters)),
      decoded: sumOf(results.map(({ decoded }) => decoded)),
    });
  }
  const states = await Promise.all(endToEnd.map(compareEndState));
  rows.push({
    scheme,
    mode: 'compat',
    compared: `final caches of ${states.length} layers through a real cache (decoded: the f16 tails)`,
    codes: sumOf(states.map(({ words }) => words)),
    parameters: sumOf(states.map(({ parameters }) => parameters)),
    decoded: sumOf(states.map(({ tails }) => tails)),
  });
  for (const bits of [2, 4]) {
    const results = cases.filter((one) => one.bits === bits).map(compareNormative);
    rows.push({
      scheme,
      mode: 'normative',
      compared: `${bits} bits, normal groups of ${results.length} cases (parameters: scales)`,
      codes: sumOf(results.map(({ codes }) => codes)),
      parameters: sumOf(results.map(({ scales }) => scales)),
      decoded: sumOf(results.map(({ decoded }) => decoded)),
    });
  }
  const sizes = new Tally();
  for (const one of sizeCases) {
    for (const make of [kiviFp16, kivi]) {
      const found = await cacheRows(one, make);
      const different = found.filter((row, i) => String(row) !== String(one.rows[i])).length;
      sizes.add(different, one.rows.length);
    }
  }
  rows.push({
    scheme,
    mode: 'compat and normative',
    compared: 'packed and f16 tokens after every step (rows of sizes)',
    codes: null,
    parameters: sizes.share,
    decoded: null,
  });
  return rows;
}
