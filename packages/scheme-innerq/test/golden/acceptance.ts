// What the acceptance table says of InnerQ, measured.
import { type AcceptanceRow, sumOf, Tally } from '../../../core/test/support/acceptance.js';
import { cases, compareCompat, compareNormative } from './cases.js';
import { compareLayer, compareNormalisedKeys, layers } from './layers.js';
import { sizeCases, sizesByStep } from './sizes.js';

const MODES = { sym: 'symmetric', asym: 'asymmetric', hybrid: 'hybrid' } as const;

export async function acceptance(): Promise<AcceptanceRow[]> {
  const scheme = 'InnerQ';
  const rows: AcceptanceRow[] = [];
  for (const mode of ['sym', 'asym', 'hybrid'] as const) {
    const results = cases.filter((one) => one.mode === mode).map(compareCompat);
    rows.push({
      scheme,
      mode: 'compat',
      compared: `${MODES[mode]} groups of ${results.length} cases, those that the original breaks included`,
      codes: sumOf(results.flatMap(({ codes, modes }) => [codes, modes])),
      parameters: sumOf(results.map(({ parameters }) => parameters)),
      // Both the quantizer's and those that come back from the codec's bytes.
      decoded: sumOf(results.flatMap(({ decoded, stored }) => [decoded, stored])),
    });
  }
  const states = layers.map(compareLayer);
  rows.push({
    scheme,
    mode: 'simulation',
    compared: `final caches of ${states.length} layers, key factors included`,
    codes: sumOf(states.map(({ codes }) => codes)),
    parameters: sumOf(states.map(({ parameters }) => parameters)),
    decoded: sumOf(states.map(({ decoded }) => decoded)),
  });
  const sizes = new Tally();
  for (const one of sizeCases) {
    const found = sizesByStep(one);
    const different = found.filter((row, i) => String(row) !== String(one.rows[i])).length;
    sizes.add(different, one.rows.length);
  }
  rows.push({
    scheme,
    mode: 'simulation',
    compared: 'sinks, quantized and f16 tokens after every step (rows of sizes)',
    codes: null,
    parameters: sizes.share,
    decoded: null,
  });
  for (const mode of ['sym', 'asym', 'hybrid'] as const) {
    const results = cases.filter((one) => one.mode === mode).map(compareNormative);
    rows.push({
      scheme,
      mode: 'normative',
      compared: `normal ${MODES[mode]} groups of ${results.length} cases (parameters: scales${mode === 'hybrid' ? ' and modes' : ''})`,
      codes: sumOf(results.flatMap(({ symmetric, asymmetric }) => [symmetric.codes, asymmetric.codes])),
      parameters: sumOf(
        results.flatMap(({ symmetric, asymmetric, modes }) => [
          symmetric.scales,
          asymmetric.scales,
          modes,
        ]),
      ),
      decoded: null,
    });
  }
  const keys = layers.map(compareNormalisedKeys);
  rows.push({
    scheme,
    mode: 'normative',
    compared: `normalised keys of ${keys.length} layers, the original's factors (parameters: scales)`,
    codes: sumOf(keys.map(({ codes }) => codes)),
    parameters: sumOf(keys.map(({ scales }) => scales)),
    decoded: null,
  });
  return rows;
}
