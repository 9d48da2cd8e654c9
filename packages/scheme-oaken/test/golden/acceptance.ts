// What the acceptance table says of Oaken, measured.
import { type AcceptanceRow, sumOf } from '../../../core/test/support/acceptance.js';
import { cases, compareArtifact, compareErrors, compareProfile, profiles } from './cases.js';

export async function acceptance(): Promise<AcceptanceRow[]> {
  const scheme = 'Oaken';
  const results = cases.map(compareArtifact);
  const thresholds = await Promise.all(profiles.map(compareProfile));
  return [
    {
      scheme,
      mode: 'simulation',
      compared: `outputs of ${results.length} cases, NaN tokens included (codes: groups; parameters: profile averages in double precision)`,
      codes: sumOf(results.map(({ groups }) => groups)),
      parameters: sumOf(thresholds.map(({ averages }) => averages)),
      decoded: sumOf(results.map(({ decoded }) => decoded)),
    },
    {
      scheme,
      mode: 'normative',
      compared: 'calibrated thresholds, averages rounded to f16',
      codes: null,
      parameters: sumOf(thresholds.map(({ calibrated }) => calibrated)),
      decoded: null,
    },
  ];
}

/** Root mean square errors of the cases of the paper's scheme. */
export async function errors() {
  const rows = [];
  for (const one of cases.filter(({ variant }) => variant === 'full'))
    rows.push({ key: one.key, skipped: one.nan_tokens.length, ...(await compareErrors(one)) });
  return rows;
}
