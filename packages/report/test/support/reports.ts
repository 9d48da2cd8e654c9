/** A comparison on the shipped capture, an evaluation of a model of its own, and a report with hostile texts. */
import { createLowbitKv } from '@lowbit-kv/core';
import {
  type CompareReport,
  compareSchemes,
  defaultCapturePath,
  openCapture,
} from '@lowbit-kv/harness';
import { evaluateFake, FOUR, TWO } from '../../../harness/test/support/fake-evaluation.js';
import { fakeModel, fakeTokens } from '../../../harness/test/support/fake-model.js';
import { channelwise } from '../../../harness/test/support/schemes.js';

const capture = await openCapture(defaultCapturePath());
const kv = createLowbitKv({ schemes: [FOUR, TWO] });
export const compareReport = await compareSchemes({
  capture,
  schemes: kv.schemes.list(),
  backend: kv.backends.get('reference'),
  calibrations: {},
  positions: 2,
});
await capture.close();

export const evalReport = await evaluateFake(fakeModel(), {
  text: { name: 'text', sha256: 'b'.repeat(64), tokens: fakeTokens(1300) },
  windows: 1,
  windowTokens: 1300,
  schemes: [FOUR, TWO, channelwise('eight', 8)],
});

export const HOSTILE = '</script><img src=x onerror=alert(1)>"\'&\u202e|`';

/** Everywhere a text of others can be. */
export function hostileReport(text: string = HOSTILE): CompareReport {
  const report = structuredClone(compareReport);
  report.capture.file = text;
  report.capture.provenance = { model: text, text, [text]: text };
  report.backend = { id: text, device: text };
  for (const row of report.schemes.slice(1)) {
    row.id = text;
    row.title = text;
    row.verdict.reason = text;
  }
  report.paretoFront = [text];
  return report;
}
