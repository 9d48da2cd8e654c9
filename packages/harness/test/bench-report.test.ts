// Benchmarks against earlier ones, break-even contexts, text and files; all times are those of the test.
import { describe, expect, it } from 'vitest';
import {
  breakEven,
  breakEvenText,
  compareBench,
  decodeSteps,
  formatBench,
  machineDifferences,
  parseBenchReport,
  perToken,
  stepGroups,
} from '../src/index.js';
import { benchReport, benchRow, SHAPE } from './support/bench.js';

describe('regressions', () => {
  const changeOf = (before: readonly number[], after: readonly number[], threshold = 0.1) =>
    compareBench(benchReport([benchRow(before)]), benchReport([benchRow(after)]), threshold)
      .changes[0];

  it('are medians that rose by more than the threshold, with middle halves apart', () => {
    expect(changeOf([99, 100, 101], [119, 120, 121])).toMatchObject({
      outcome: 'slower',
      before: 100,
      after: 120,
      relative: expect.closeTo(0.2, 12),
    });
    expect(changeOf([99, 100, 101], [108, 109, 110])?.outcome).toBe('same');
    expect(changeOf([99, 100, 101], [108, 109, 110], 0.05)?.outcome).toBe('slower');
    expect(changeOf([119, 120, 121], [99, 100, 101])?.outcome).toBe('faster');
    // 20 % more, in samples that differ by as much among themselves.
    expect(changeOf([80, 100, 140], [110, 120, 160])?.outcome).toBe('same');
  });

  it('include rows that have no figure any more', () => {
    const {
      microseconds,
      bytes,
      bytesPerSecond,
      shareOfCopy,
      layers,
      rotatedBytes,
      emulated,
      ...row
    } = benchRow([1]);
    const refused = {
      ...row,
      status: 'refused',
      code: 'PLAN_REFUSED',
      reason: 'no kernel',
    } as const;
    const { changes } = compareBench(benchReport([benchRow([5])]), benchReport([refused]), 0.1);
    expect(changes).toMatchObject([{ outcome: 'lost', before: 5, after: null, relative: null }]);
    expect(compareBench(benchReport([refused]), benchReport([benchRow([5])]), 0.1)).toEqual({
      ...{ changes: [], onlyBefore: 0, onlyAfter: 1 },
    });
  });

  it('compare rows of one scheme, backend, operation and shape, and count the others', () => {
    const rows = [
      benchRow([10]),
      benchRow([10], { scheme: 'two' }),
      benchRow([10], { operation: 'append' }),
      benchRow([10], { shape: { batch: 8 } }),
      benchRow([10], { shape: { context: 2048 } }),
    ];
    const now = [benchRow([20], { fingerprint: 'b' }), benchRow([20], { shape: { headDim: 128 } })];
    const { changes, onlyBefore, onlyAfter } = compareBench(
      benchReport(rows),
      benchReport(now),
      0.1,
    );
    expect(changes).toMatchObject([{ outcome: 'slower', schemeChanged: true }]);
    expect({ onlyBefore, onlyAfter }).toEqual({ onlyBefore: 4, onlyAfter: 1 });
  });

  it('are not looked for between machines: another device, clock or, on the host, processor', () => {
    const [before, after] = [benchReport([]), benchReport([])];
    expect(machineDifferences(before, after)).toEqual([]);
    after.machine.processor = 'another';
    expect(machineDifferences(before, after)).toEqual([
      'reference: processor was "a processor", is "another"',
    ]);
    for (const report of [before, after])
      for (const backend of report.backends) backend.clock = 'gpu';
    expect(machineDifferences(before, after)).toEqual([]);
    for (const backend of after.backends) backend.device = 'another card';
    expect(machineDifferences(before, after)).toEqual([
      'reference: device was "a card", is "another card"',
    ]);
    for (const backend of after.backends) backend.id = 'cuda';
    expect(machineDifferences(before, after)).toEqual([]);
  });
});

describe('decode steps', () => {
  const row = (
    scheme: string,
    operation: 'append' | 'attend',
    context: number | null,
    us: number,
  ) => benchRow([us], { scheme, operation, shape: { context } });
  const f16 = [
    row('f16', 'append', null, 1),
    row('f16', 'attend', 1024, 10),
    row('f16', 'attend', 4096, 40),
  ];
  const stepsOf = (...rows: ReturnType<typeof row>[]) =>
    decodeSteps(benchReport([...f16, ...rows]));

  it('are attention with the append of the same shape', () => {
    const steps = stepsOf(row('four', 'attend', 1024, 7));
    expect(steps.map(({ scheme, attend, append }) => [scheme, attend, append])).toEqual([
      ['f16', 10, 1],
      ['f16', 40, 1],
      ['four', 7, null],
    ]);
    expect(perToken(steps[0] as (typeof steps)[number])).toBe(11);
    const eight = benchRow([80], { shape: { batch: 8, tokens: 2 } });
    const append = benchRow([16], {
      operation: 'append',
      shape: { batch: 8, tokens: 2, context: null },
    });
    const [step] = decodeSteps(benchReport([eight, append]));
    expect(perToken(step as NonNullable<typeof step>)).toBe(6);
  });

  it('break even where the line between two contexts crosses', () => {
    // 4 us slower at 1024 tokens, 8 us faster at 4096: a third of the way.
    const steps = stepsOf(
      row('four', 'append', null, 5),
      row('four', 'attend', 1024, 10),
      row('four', 'attend', 4096, 28),
    );
    const found = breakEven(steps, 'four');
    expect(found).toEqual({ kind: 'from', context: 2048, between: [1024, 4096] });
    expect(breakEvenText(found)).toBe('from about 2048 tokens');
  });

  it('count the append: attention alone would be faster', () => {
    const attends = [row('four', 'attend', 1024, 8), row('four', 'attend', 4096, 38)];
    expect(breakEven(stepsOf(row('four', 'append', null, 2), ...attends), 'four')).toEqual({
      kind: 'always',
      shortest: 1024,
    });
    expect(breakEven(stepsOf(row('four', 'append', null, 3), ...attends), 'four')).toEqual({
      kind: 'never',
      longest: 4096,
    });
  });

  it('from where a scheme stays faster, when it is faster in between too', () => {
    const attends = [1024, 2048, 3072, 4096].map((context) => row('f16', 'attend', context, 10));
    const own = [9, 12, 12, 6].map((us, i) => row('four', 'attend', 1024 * (i + 1), us));
    const appends = [row('f16', 'append', null, 0), row('four', 'append', null, 0)];
    const steps = decodeSteps(benchReport([...appends, ...attends, ...own]));
    expect(breakEven(steps, 'four')).toMatchObject({ kind: 'from', between: [3072, 4096] });
  });

  it('say that they were not measured, and what is missing', () => {
    const attend = row('four', 'attend', 1024, 1);
    expect(breakEven(stepsOf(attend), 'four')).toMatchObject({
      kind: 'not measured',
      reason: /of four/,
    });
    const without = decodeSteps(benchReport([attend, row('four', 'append', null, 1)]));
    expect(breakEven(without, 'four')).toMatchObject({ reason: expect.stringContaining('of f16') });
    const elsewhere = stepsOf(row('four', 'append', null, 1), row('four', 'attend', 9, 1));
    expect(breakEven(elsewhere, 'four')).toMatchObject({ kind: 'not measured' });
    expect(breakEvenText(breakEven(elsewhere, 'four'))).toBe('not measured');
  });

  it('of other shapes and backends are groups of their own', () => {
    const steps = stepsOf(
      benchRow([1], { shape: { batch: 8 } }),
      benchRow([1], { backend: 'cuda' }),
      row('four', 'attend', 2048, 1),
    );
    expect(stepGroups(steps).map((group) => group.length)).toEqual([3, 1, 1]);
  });
});

describe('text', () => {
  const report = benchReport([
    benchRow([20, 21, 22], { scheme: 'f16' }),
    benchRow([9, 10, 12]),
    { ...benchRow([1], { scheme: 'a|b' }), ...{ emulated: ['no kernel'], rotatedBytes: 10 } },
    {
      ...{ status: 'refused', scheme: 'odd', fingerprint: 'o', backend: 'reference' },
      ...{
        operation: 'attend',
        shape: SHAPE,
        code: 'SHAPE_UNSUPPORTED',
        reason: 'does not divide',
      },
    },
  ]);

  it('has medians, quartiles, rates and the factor over f16', () => {
    const text = formatBench(report);
    expect(text).toMatch(/^four +1 +1024 +1 +8\/2 +64 +10 +9\.5 to 11 .* 50 % +2\.1x$/m);
    expect(text).toMatch(/^a\|b \* /m);
    expect(text).toContain('odd: refused on reference: does not divide');
    expect(text).toContain('a|b: emulated: no kernel');
    expect(text).not.toContain('change');
    for (const line of text.split('\n')) expect(line.length).toBeLessThanOrEqual(120);
  });

  it('has changes against a base, and Markdown that keeps its columns', () => {
    const base = benchReport([benchRow([5, 5, 5])]);
    const comparison = compareBench(base, report, 0.1);
    const text = formatBench(report, { style: 'markdown', comparison });
    expect(text).toMatch(/^## attend on reference/m);
    expect(text).toMatch(/^\| four .*\| \+100\.0 % slower \|$/m);
    const cells = (line: string) => line.replaceAll('\\|', '').split('|').length;
    const table = text.split('\n').filter((line) => line.startsWith('|'));
    expect(new Set(table.map(cells)).size).toBe(1);
  });
});

it('files are read as they were written; others are refused by name', () => {
  const report = benchReport([benchRow([1, 2])]);
  expect(parseBenchReport(JSON.parse(JSON.stringify(report)), 'x.json')).toEqual(report);
  for (const [content, message] of [
    [3, /x\.json.*bench --json/],
    [{ reportVersion: 1, capture: {}, replay: {} }, /another command/],
    [{ ...report, reportVersion: 2 }, /reportVersion 2/],
    [{ ...report, rows: [{ ...benchRow([1]), bytes: -1 }] }, /damaged: rows\.0\.bytes/],
  ] as const)
    expect(() => parseBenchReport(content, 'x.json')).toThrow(message);
});
