/** A comparison on the shipped capture, an evaluation of a model of its own, a benchmark, and the same with hostile texts. */
import { createLowbitKv } from '@lowbit-kv/core';
import {
  type BenchReport,
  type CompareReport,
  compareSchemes,
  defaultCapturePath,
  type EvalReport,
  openCapture,
} from '@lowbit-kv/harness';
import { benchReport, benchRow } from '../../../harness/test/support/bench.js';
import { evaluateFake, FOUR, TWO } from '../../../harness/test/support/fake-evaluation.js';
import { fakeModel, fakeTokens } from '../../../harness/test/support/fake-model.js';
import { channelwise } from '../../../harness/test/support/schemes.js';
import type { NamedBench } from '../../src/index.js';

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

/** Decode steps of f16, `four` and `two` on a card: four is slower at the shortest context, two is faster everywhere. */
export const BENCH: NamedBench = { name: 'card.json', report: stepsOf(compareReport) };

function stepsOf(report: CompareReport | EvalReport): BenchReport {
  const attends: Readonly<Record<string, readonly number[]>> = {
    f16: [10, 40, 160],
    four: [12, 20, 45],
    two: [8, 12, 31],
  };
  const rows = report.schemes.flatMap((row) => {
    const fingerprint = 'fingerprint' in row ? row.fingerprint : null;
    const times = attends[row.id];
    if (times === undefined || fingerprint === null) return [];
    const identity = { scheme: row.id, fingerprint, backend: 'reference' };
    return [
      benchRow([1], { ...identity, operation: 'append', shape: { context: null } }),
      ...times.map((us, i) => benchRow([us], { ...identity, shape: { context: 1024 * 4 ** i } })),
    ];
  });
  return benchReport(rows);
}

/** Also in what a driver says of itself. */
export function hostileBench(text: string = HOSTILE): NamedBench {
  const report = structuredClone(BENCH.report);
  report.command = text;
  report.tool = { version: text, commit: text };
  report.machine = { ...report.machine, processor: text, platform: text, runtime: text };
  for (const backend of report.backends)
    Object.assign(backend, { device: text, driver: text, clocks: { before: text, after: text } });
  for (const row of report.rows) if (row.scheme !== 'f16') row.scheme = text;
  return { name: text, report };
}

export function hostileEvaluation(text: string = HOSTILE): EvalReport {
  const report = structuredClone(evalReport);
  report.model.name = text;
  report.text.name = text;
  report.settings = { [text]: text };
  report.command = text;
  for (const row of report.schemes.slice(1)) {
    row.id = text;
    row.title = text;
    row.verdict.reason = text;
  }
  return report;
}
