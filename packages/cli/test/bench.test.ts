// `lowbit-kv bench` on backends that run here: stdout, files, regressions, refusals. No figure is looked at for its size.
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type BenchReport, benchReportSchema } from '@lowbit-kv/harness';
import { expect, test } from 'vitest';
import { runCli } from './support/run-cli.js';
import { runHere } from './support/run-here.js';
import { temporaryDirectory } from './support/temporary-directory.js';

const directory = temporaryDirectory();
const SMALL = [
  ...['--scheme', 'kivi-4bit-g32', '--tokens', '96', '--heads', '2/1', '--head-dim', '32'],
  ...['--samples', '2', '--warm-up', '0'],
];
const bench = (...args: string[]) => runHere(['bench', ...SMALL, ...args], { directory });

/** A run whose times are `factor` times those of `report`, as an earlier one. */
function writeBase(
  name: string,
  report: BenchReport,
  factor: number,
  change?: (base: BenchReport) => void,
) {
  const base = structuredClone(report);
  for (const row of base.rows) {
    if (row.status !== 'measured') continue;
    for (const figure of ['minimum', 'lowerQuartile', 'median', 'upperQuartile'] as const)
      row.microseconds[figure] *= factor;
  }
  change?.(base);
  writeFileSync(join(directory, name), JSON.stringify(base));
}

test('prints tables and writes a file that its schema takes', async () => {
  const { code, stdout, stderr } = await bench('--out', 'new/results');
  expect(code, stderr).toBe(0);
  for (const operation of ['pack', 'append', 'attend'])
    expect(stdout).toMatch(new RegExp(`^${operation} on reference: `, 'm'));
  expect(stdout).toMatch(/^kivi-4bit-g32( \*)? +1 +96 +1 +2\/1 +32 +[\d.]+ +[\d.]+ to [\d.]+/m);
  expect(stdout).toMatch(/^decode step on reference: .*\n.*faster than f16$/m);
  expect(stdout).toContain('GB/s read and written.');
  const [file = ''] = readdirSync(join(directory, 'new/results'));
  expect(file).toMatch(/^bench-\d{4}-\d\d-\d\dT\d\d-\d\d-\d\d-[\da-f]{8}\.json$/);
  expect(stderr).toContain(`Written: ${join(directory, 'new/results', file)}`);
  const text = readFileSync(join(directory, 'new/results', file), 'utf8');
  const report = benchReportSchema.parse(JSON.parse(text));
  expect(report.rows).toHaveLength(6);
  expect(report.tool.version).toMatch(/^\d+\.\d+\.\d+/);
  expect(report.machine.runtime).toBe(`node ${process.version}`);
});

test('--json is what the file holds; --markdown is for documents; onnx is timed beside', async () => {
  const args = ['--operation', 'attend', '--backend', 'reference', 'onnx'];
  const { code, stdout, stderr } = await bench(...args, '--json', '--out', 'own.json');
  expect(code, stderr).toBe(0);
  expect(`${stdout}`).toBe(readFileSync(join(directory, 'own.json'), 'utf8'));
  const report = benchReportSchema.parse(JSON.parse(stdout));
  expect(report.backends.map(({ id, clock }) => [id, clock])).toEqual([
    ['reference', 'host'],
    ['onnx', 'host'],
  ]);
  expect(report.rows.map(({ backend, scheme, status }) => [backend, scheme, status])).toEqual([
    ['reference', 'f16', 'measured'],
    ['reference', 'kivi-4bit-g32', 'measured'],
    ['onnx', 'f16', 'measured'],
    ['onnx', 'kivi-4bit-g32', 'measured'],
  ]);
  const markdown = await bench('--operation', 'append', '--markdown');
  expect(markdown.stdout).toMatch(/^## append on reference: .*\n\n\| scheme /);
});

test('a regression against a base ends with 3 and names what became slower', async () => {
  const args = ['--operation', 'attend'];
  const { stdout } = await bench(...args, '--json');
  const report = benchReportSchema.parse(JSON.parse(stdout));
  writeBase('faster.json', report, 1e-6);
  const slower = await bench(...args, '--compare', 'faster.json');
  expect(slower.code).toBe(3);
  expect(slower.stdout).toMatch(/ slower$/m);
  expect(slower.stderr).toMatch(
    /^regression: kivi-4bit-g32 on reference, attend, 1 x 96, 1 new, 2\/1 heads of 32: [\d.e-]+ us before, [\d.]+ now \(\+\d+\.\d %\)$/m,
  );
  writeBase('slower.json', report, 1e6);
  const faster = await bench(...args, '--compare', 'slower.json');
  expect(faster).toMatchObject({ code: 0 });
  expect(faster.stderr).toContain('none slower by more than 10 %, of 2');
  const allowed = await bench(...args, '--compare', 'faster.json', '--threshold', '1e12%');
  expect(allowed).toMatchObject({ code: 0 });
});

test('rows that were measured and are refused now are regressions; other rows are counted', async () => {
  const { stdout } = await bench('--operation', 'attend', '--json');
  const report = benchReportSchema.parse(JSON.parse(stdout));
  writeBase('base.json', report, 1e6, ({ rows }) => {
    for (const { shape } of rows) shape.headDim = 48;
    rows.push({ ...(rows[0] as BenchReport['rows'][number]), scheme: 'gone' });
  });
  const args = ['--operation', 'attend', '--head-dim', '48', '--compare', 'base.json'];
  const { code, stderr } = await bench(...args);
  expect(code).toBe(3);
  expect(stderr).toMatch(/^regression: kivi-4bit-g32 .*us before, not measured now$/m);
  expect(stderr).toContain('Not asked for now, of the base: 1');
});

test('a base of another machine is refused before anything runs, unless allowed', async () => {
  const { stdout } = await bench('--operation', 'append', '--json');
  writeBase('other.json', benchReportSchema.parse(JSON.parse(stdout)), 1e6, ({ machine }) => {
    machine.processor = 'another';
  });
  const args = ['--operation', 'append', '--compare', 'other.json'];
  const refused = await bench(...args);
  expect(refused).toMatchObject({ code: 2, stdout: '' });
  expect(refused.stderr).toMatch(/base was measured on another machine.*processor was \\?"another/);
  expect((await bench(...args, '--allow-different-machine')).code).toBe(0);
});

test('a scheme that does not fit is refused with its reason', async () => {
  const args = ['--operation', 'attend', '--scheme', './none.mjs'];
  writeFileSync(
    join(directory, 'none.mjs'),
    `export default { specVersion: 1, id: 'none', title: 'none', sinks: 0, packing: 'after-attention',
      key: { bits: 16 }, value: { bits: 16 }, calibration: { kind: 'none' },
      overrides: [{ layers: [0], heads: [5], key: { bits: 16 } }] };`,
  );
  const { code, stdout } = await bench(...args);
  expect(code).toBe(0);
  expect(stdout).toMatch(/none: refused on reference: /);
});

test.each([
  [['--heads', '3/2'], /multiple of them first, such as 32\/8/],
  [['--heads', '8'], /such as 32\/8/],
  [['--samples', '0'], /positive integer/],
  [['--threshold', 'much'], /percentage/],
  [['--operation', 'unpack'], /pack, append, attend/],
  [['--backend', 'cpu'], /reference, onnx, webgpu, cuda/],
  [['--tokens', 'many'], /positive integer/],
  [['--json', '--markdown'], /cannot be used with/],
])('%s is a wrong command line', async (args, message) => {
  const { code, stdout, stderr } = await bench(...args);
  expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
  expect(stderr).toMatch(message);
});

test('files that are missing, of another kind, or cannot be written are refused before anything runs', async () => {
  writeFileSync(join(directory, 'notes.json'), '{}');
  mkdirSync(join(directory, 'folder.json'), { recursive: true });
  for (const [args, message] of [
    [['--compare', 'none.json'], /report cannot be read: ENOENT.*none\.json/],
    [['--compare', 'notes.json'], /this is no report/],
    [['--out', 'notes.json'], /this one holds something else/],
    [['--out', 'folder.json'], /this one holds something else/],
    [['--out', 'missing/bench.json'], /ENOENT/],
    [['--out', 'notes.json/results'], /ENOTDIR|EEXIST/],
    [['--scheme', 'no-such-scheme'], /no-such-scheme/],
  ] as const) {
    const { code, stdout, stderr } = await bench(...args);
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
    expect(stderr).toMatch(message);
  }
  expect(readFileSync(join(directory, 'notes.json'), 'utf8')).toBe('{}');
});

test('Ctrl-C stops it: no table, no file', async () => {
  const { code, stdout, stderr } = await runHere(
    ['bench', ...SMALL, '--samples', '10000', '--out', 'stopped.json'],
    { directory, isTTY: true, interruptAt: (text) => text.includes('3/6') },
  );
  expect({ code, stdout }).toEqual({ code: 130, stdout: '' });
  expect(stderr).toContain('Interrupted.');
  expect(existsSync(join(directory, 'stopped.json'))).toBe(false);
});

test('a reader that closes the pipe early ends it quietly', async () => {
  const { code, signal, stderr } = await runCli(['bench', ...SMALL, '--operation', 'append'], {
    directory,
    closedStdout: true,
  });
  expect({ code, signal }).toEqual({ code: 0, signal: null });
  expect(stderr).not.toContain('EPIPE');
});
