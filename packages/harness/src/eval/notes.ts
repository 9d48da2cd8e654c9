/** What a reader of the tables has to know. */
import { plain } from '../table.js';
import type { EvalReport } from './report.js';

export function noteLines({
  windows,
  thresholds,
  checks,
  resumed,
  schemes,
  retrieval,
}: EvalReport): string[] {
  const notes = [
    `Windows: ${windows.description}.`,
    'After +- stands the larger of two standard errors: of tokens taken as independent, and of windows. That of delta nll is paired, of the differences to f16 at each token. dp is the change of the probability of the right token; L is a layer, h a query head.',
    'Bits are per element of keys and values as stored at the end of a window, tokens still in f16 included; asymptotic are those of packed blocks. Rates are wall clock of the model, under a scheme with packing and the noise of layers; metrics are left out everywhere.',
    `Verdicts: safe up to KL p99 ${thresholds.safeDivergenceP99}, mean KL ${thresholds.safeWorstBucket} in the worst bucket of positions and output NMSE ${thresholds.safeWorstLayer} in the worst layer; care up to KL p99 ${thresholds.careDivergenceP99} and ${thresholds.careWorstBucket} in the worst bucket; averages ${retrieval === null ? 'decide' : 'and retrieval decide'} nothing.`,
    ...(retrieval === null
      ? []
      : [
          'Retrieval: f16 and the row without the key are log-probabilities; rows of schemes are changes from f16. Prompts are as long as whole sentences allow.',
        ]),
    ...checks.map(({ name, detail }) => `Check ${name}: ${detail}.`),
  ];
  for (const row of schemes) {
    if (row.status === 'measured' && row.calibration !== null)
      notes.push(plain(`Calibration of ${row.id}: ${row.calibration}.`));
  }
  if (resumed.rows.length > 0) {
    const rows = resumed.rows.map(({ id, windows: count, prompts }) => {
      const parts = [`${count} of ${windows.count} windows`];
      return `${id} ${[...parts, ...(prompts > 0 ? [`${prompts} prompts`] : [])].join(' and ')}`;
    });
    notes.push(`Taken from earlier runs, with their rates: ${rows.join(', ')}.`);
  }
  for (const { key, reason } of resumed.damaged)
    notes.push(`The stored result ${key.slice(0, 12)} was damaged (${reason}) and measured again.`);
  return notes;
}
