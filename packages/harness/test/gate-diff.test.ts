/** Two reports compared: different data first, each figure with its change, and a gate over the changes. */
import { beforeAll, describe, expect, it } from 'vitest';
import {
  type CompareReport,
  checkDiffGate,
  diffReports,
  type EvalReport,
  type FigureDiff,
  formatDiff,
  parseChangeCondition,
  parseReport,
  type ReportDiff,
} from '../src/index.js';
import { evalRow, evaluateFake } from './support/fake-evaluation.js';
import { compared } from './support/gates.js';
import { channelwise } from './support/schemes.js';

let report: CompareReport;
let evaluation: EvalReport;
beforeAll(async () => {
  report = await compared([channelwise('eight', 8), channelwise('two', 2)]);
  evaluation = await evaluateFake();
});

/** A copy with changes. */
function changed<Report>(original: Report, change: (copy: Report) => void): Report {
  const copy = structuredClone(original);
  change(copy);
  return copy;
}

function compareRow({ schemes }: CompareReport, id: string) {
  const row = schemes.find((one) => one.id === id);
  if (row?.status !== 'measured') throw new Error('not measured');
  return row;
}

function figureOf(diff: ReportDiff, id: string, metric: string): FigureDiff {
  const row = diff.rows.find((one) => one.id === id);
  const figure = row?.figures.find((one) => one.metric === metric);
  if (figure === undefined) throw new Error(`${id} has no ${metric}`);
  return figure;
}

function failures(diff: ReportDiff, ...texts: string[]): string[] {
  const conditions = texts.map((text) => parseChangeCondition(text, diff.kind));
  const { passed, failures: found } = checkDiffGate(diff, conditions);
  expect(passed).toBe(found.length === 0);
  return found.map(({ message }) => message);
}

describe('of comparisons', () => {
  it('a report and itself are the same in every figure', () => {
    const diff = diffReports(report, report);
    expect(diff.rows.map(({ id }) => id)).toEqual(['f16', 'eight', 'two']);
    const outcomes = diff.rows.flatMap(({ figures }) => figures.map(({ outcome }) => outcome));
    expect(outcomes.length).toBeGreaterThan(30);
    expect(new Set(outcomes)).toEqual(new Set(['same']));
    expect(diff.differences).toEqual({ data: [], circumstances: [] });
    expect(failures(diff, 'output.worstHead>0%', 'bits>0')).toEqual([]);
    expect(formatDiff(diff)).toMatch(/^0 figures worse, 0 better, \d+ the same \(within 2 paired/);
  });

  it('says what got worse and what better, by how much and where', () => {
    const before = compareRow(report, 'two').output.worstHead;
    const after = changed(report, (copy) => {
      const row = compareRow(copy, 'two');
      row.output.worstHead = { layer: 5, head: 1, nmse: 1.5 * (before.nmse ?? 0) };
      row.bits.attended -= 0.5;
      // Within what backends round differently.
      row.key.nmse = 1.0005 * (row.key.nmse ?? 0);
      for (const memory of row.memory) memory.ratio *= 2;
    });
    const diff = diffReports(report, after);
    expect(figureOf(diff, 'two', 'output.worstHead')).toMatchObject({
      outcome: 'worse',
      before: before.nmse,
      relative: expect.closeTo(0.5, 9),
      place: { layer: 5, head: 1 },
      noiseOf: 'rounding',
    });
    expect(figureOf(diff, 'two', 'bits')).toMatchObject({ outcome: 'better', change: -0.5 });
    expect(figureOf(diff, 'two', 'memory.ratio').outcome).toBe('better');
    expect(figureOf(diff, 'two', 'key.mean').outcome).toBe('same');
    const text = formatDiff(diff);
    expect(text).toMatch(/^two +output\.worstHead .* \+50% +- +worse$/m);
    expect(text).toMatch(/^two +bits .* -0\.5 .* better$/m);
    expect(text).toContain('two: worst after: output.worstHead layer 5 head 1');
    expect(text).toMatch(/^1 figures worse, 2 better/m);
    expect(text).not.toMatch(/^eight/m);

    expect(failures(diff, 'output.worstHead>40%')).toEqual([
      expect.stringMatching(/^two fails output\.worstHead>40%: .* at layer 5 head 1, by 50%$/),
    ]);
    expect(failures(diff, 'output.worstHead>60%', 'bits>0')).toEqual([]);
    expect(failures(diff, 'bits<-0.4')).toHaveLength(1);
  });

  it('a figure that is finite no more is worse, and crosses every limit', () => {
    const after = changed(report, (copy) => {
      compareRow(copy, 'two').output.worstHead.nmse = null;
    });
    const diff = diffReports(report, after);
    expect(figureOf(diff, 'two', 'output.worstHead')).toMatchObject({
      outcome: 'worse',
      change: null,
    });
    expect(failures(diff, 'output.worstHead>1000%')).toHaveLength(1);
    expect(figureOf(diffReports(after, report), 'two', 'output.worstHead').outcome).toBe('better');
  });

  it('names schemes of one report only; one that is gone fails the gate', () => {
    const after = changed(report, (copy) => {
      copy.schemes.splice(1, 1);
    });
    const diff = diffReports(report, after);
    expect(diff).toMatchObject({ onlyBefore: ['eight'], onlyAfter: [] });
    expect(formatDiff(diff)).toMatch(/^Only in the first: eight$/m);
    expect(failures(diff, 'bits>1')).toEqual(['eight is in the first report only']);
    const added = diffReports(after, report);
    expect(added.onlyAfter).toEqual(['eight']);
    expect(failures(added, 'bits>1')).toEqual([]);
  });

  it('reports without a scheme in common fail the gate', () => {
    const after = changed(report, (copy) => {
      copy.schemes.length = 1;
    });
    expect(failures(diffReports(after, report), 'bits>1')).toEqual([
      'the reports have no scheme in common besides f16',
    ]);
  });

  it('a row that became invalid has no figures and fails', () => {
    const after = changed(report, (copy) => {
      compareRow(copy, 'two').verdict = { level: 'invalid', reason: 'self-check failed: x' };
    });
    const diff = diffReports(report, after);
    expect(diff.rows.find(({ id }) => id === 'two')?.figures).toEqual([]);
    expect(formatDiff(diff)).toMatch(/^two: \w+ -> invalid: self-check failed: x$/m);
    expect(failures(diff, 'bits>100')).toEqual([
      expect.stringMatching(/^two has no figures to compare: \w+, then invalid: self-check/),
    ]);
  });

  it('calls out another scheme under the same id', () => {
    const after = changed(report, (copy) => {
      compareRow(copy, 'two').fingerprint = 'other';
    });
    expect(formatDiff(diffReports(report, after))).toContain('two: its fingerprint is another');
  });

  it('tells different data from different circumstances', () => {
    const after = changed(report, (copy) => {
      copy.capture.sha256 = 'f'.repeat(64);
      copy.capture.file = 'other.safetensors';
      copy.replay.attendedPositions = 3;
      copy.backend.id = 'onnx';
    });
    const diff = diffReports(report, after);
    expect(diff.differences.data.map(({ field }) => field)).toEqual([
      'capture.sha256',
      'replay.attendedPositions',
    ]);
    expect(diff.differences.circumstances.map(({ field }) => field)).toEqual([
      'capture.file',
      'backend.id',
    ]);
    expect(formatDiff(diff)).toMatch(
      /^Different data: .*\n {2}capture\.sha256: .* -> f+\n {2}replay\.attendedPositions: 12 -> 3\n\nDifferent circ/,
    );
  });
});

describe('of evaluations', () => {
  it('a change within two paired standard errors is none', () => {
    const four = evalRow(evaluation, 'four').divergence;
    const error = Math.max(four.standardError ?? 0, four.windowStandardError ?? 0);
    expect(error).toBeGreaterThan(0);
    // Two reports: the errors of both add up, as squares.
    const noise = 2 * Math.SQRT2 * error;
    for (const [factor, outcome] of [
      [0.99, 'same'],
      [1.01, 'worse'],
      [-1.01, 'better'],
    ] as const) {
      const after = changed(evaluation, (copy) => {
        evalRow(copy, 'four').divergence.mean = (four.mean ?? 0) + factor * noise;
      });
      expect(figureOf(diffReports(evaluation, after), 'four', 'kl.mean')).toMatchObject({
        outcome,
        noise: expect.closeTo(noise, 12),
        noiseOf: 'standard errors',
      });
    }
  });

  it('less agreement is worse', () => {
    const after = changed(evaluation, (copy) => {
      evalRow(copy, 'four').topAgreement.mean = 0;
    });
    expect(figureOf(diffReports(evaluation, after), 'four', 'top1').outcome).toBe('worse');
  });

  it('model, text, windows and settings are data; names and the backend are not', () => {
    const after = changed(evaluation, (copy) => {
      copy.model.name = 'elsewhere';
      copy.model.fingerprint = '0'.repeat(64);
      copy.text.sha256 = 'b'.repeat(64);
      copy.windows.tokensSha256 = 'c'.repeat(64);
      copy.settings.stress = 'key-scale:16';
      copy.settings.backend = 'onnx';
    });
    const { data, circumstances } = diffReports(evaluation, after).differences;
    expect(data.map(({ field }) => field)).toEqual([
      ...['model.fingerprint', 'text.sha256', 'windows.tokensSha256', 'settings.stress'],
    ]);
    expect(data[3]).toMatchObject({ before: 'missing', after: 'key-scale:16' });
    expect(circumstances.map(({ field }) => field)).toEqual(['model.name', 'settings.backend']);
  });

  it('is not compared with a comparison', () => {
    expect(() => diffReports(report, evaluation)).toThrow(
      expect.objectContaining({ code: 'OPTION_INVALID', value: ['compare', 'eval'] }),
    );
  });
});

describe('a report from a file', () => {
  it('is read as it was written', () => {
    expect(parseReport(JSON.parse(JSON.stringify(report)), 'a')).toEqual(report);
    expect(parseReport(JSON.parse(JSON.stringify(evaluation)), 'a')).toEqual(evaluation);
  });

  it.each<[string, () => unknown, RegExp]>([
    ['null', () => null, /this is no report/],
    ['an array', () => [report], /this is no report/],
    ['a report of tune', () => ({ reportVersion: 1, rows: [] }), /report of another command/],
    ['version 2', () => ({ ...report, reportVersion: 2 }), /has reportVersion 2/],
    [
      'a version without end',
      () => ({ ...report, reportVersion: JSON.parse('['.repeat(20_000) + ']'.repeat(20_000)) }),
      /has reportVersion \[object Array\]/,
    ],
    ['no version', () => ({ ...report, reportVersion: undefined }), /has reportVersion undefined/],
    [
      'a field of another type',
      () => ({ ...evaluation, windows: { ...evaluation.windows, count: 'x' } }),
      /damaged: windows\.count: /,
    ],
    [
      'a capture without data',
      () => ({ ...report, capture: { ...report.capture, data: [] } }),
      /damaged: capture\.data: /,
    ],
    ['a field too many', () => ({ ...report, more: 1 }), /damaged: report: .*more/],
  ])('%s is refused', (_, content, message) => {
    expect(() => parseReport(content(), 'file.json')).toThrow(
      expect.objectContaining({
        code: 'OPTION_INVALID',
        value: 'file.json',
        message: expect.stringMatching(message),
      }),
    );
  });
});
