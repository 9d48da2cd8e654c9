// `lowbit-kv tune`, and its file in `compare`.
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { defineScheme, schemeFingerprint } from '@lowbit-kv/core';
import { compareReportSchema, type TuneReport } from '@lowbit-kv/harness';
import { beforeAll, expect, test } from 'vitest';
import { runHere } from './support/run-here.js';
import { temporaryDirectory } from './support/temporary-directory.js';
import { writeTinyCapture } from './support/tiny-capture.js';

const directory = temporaryDirectory();
beforeAll(() => writeTinyCapture(join(directory, 'tiny.safetensors')));

const WINDOWS = ['--sinks', '4', '--recent', '16'];
const command = (name: string, ...args: string[]) =>
  runHere([name, '--capture', 'tiny.safetensors', ...args], { directory });

test('writes a scheme within the budget that compare takes, and says what it beats', async () => {
  const schemes = ['--scheme', 'kivi-2bit-g32', 'innerq', 'turboquant-3bit', 'oaken-sm'];
  const args = ['--budget-bits', '3.25', ...WINDOWS, ...schemes, '--out', 'tuned.json'];
  const tuned = await command('tune', ...args, '--json');
  expect(tuned.code).toBe(0);
  expect(tuned.stderr).toContain('use it with --scheme "tuned.json"');
  const report = JSON.parse(tuned.stdout) as TuneReport;
  expect(report.rows[0]).toMatchObject({ kind: 'tuned', id: 'tuned-3-25' });
  expect(report.rows[0]?.bits).toBeLessThanOrEqual(3.25);
  const rivals = report.rows.filter(({ kind }) => kind === 'preset').map(({ id }) => id);
  expect(rivals).toContain('kivi-2bit-g32');
  expect(rivals).not.toContain('oaken-sm');
  const file = JSON.parse(readFileSync(join(directory, 'tuned.json'), 'utf8'));
  expect(file).toEqual(report.schemeFile);

  const { code, stdout } = await command('compare', '--scheme', './tuned.json', '--json');
  expect(code).toBe(0);
  const [, row] = compareReportSchema.parse(JSON.parse(stdout)).schemes;
  expect(row).toMatchObject({ id: 'tuned-3-25', status: 'measured' });
  if (row?.status !== 'measured') throw new Error('not measured');
  expect(row.bits.attended).toBeCloseTo(report.rows[0]?.bitsWithWindows as number, 9);
  expect(row.output.nmse).toBeGreaterThan((report.rows[0]?.heldOut.nmse ?? 0) / 3);
  expect(row.output.nmse).toBeLessThan((report.rows[0]?.fit.nmse ?? 0) * 3);
});

test('on the shipped capture: less error than every uniform scheme of its size, on queries it was not chosen by', async () => {
  const schemes = [
    'kivi-2bit-g64',
    'turboquant-2bit',
    'turboquant-3bit',
    'rotated-4bit-symmetric-g32',
  ];
  const args = ['--budget-bits', '3.25', '--positions', '16', '--scheme', ...schemes];
  const { code, stdout } = await runHere(['tune', ...args, '--json'], { directory });
  expect(code).toBe(0);
  const { rows, beatsAll, allocation, fit, heldOut } = JSON.parse(stdout) as TuneReport;
  expect(fit.last).toBeLessThan(heldOut.first);
  expect(
    new Set(allocation.layers.map(({ key, value }) => `${key} ${value}`)).size,
  ).toBeGreaterThan(1);
  const [tuned, , ...uniform] = rows;
  expect(tuned?.bits).toBeLessThanOrEqual(3.25);
  expect(uniform.map(({ id }) => id)).toContain('turboquant-3bit');
  for (const { bits, heldOut: error } of uniform) {
    expect(bits).toBeLessThanOrEqual(3.25);
    expect(error.nmse).toBeGreaterThan(1.2 * (tuned?.heldOut.nmse as number));
  }
  expect(beatsAll).toBe(true);
  expect(tuned?.heldOut.nmse).toBeGreaterThan(1e-4);
}, 180_000);

test('a scheme file brings its calibration', async () => {
  const args = ['--budget-bits', '6', ...WINDOWS, '--scheme', 'oaken-sm', 'kivi-2bit-g32'];
  const { code, stdout } = await command('tune', ...args, '--out', 'bands.json', '--id', 'bands');
  expect(code).toBe(0);
  expect(stdout).toMatch(/^bands +tuned /m);
  const { scheme, calibration } = JSON.parse(readFileSync(join(directory, 'bands.json'), 'utf8'));
  expect(scheme.calibration).toEqual({ kind: 'offline', values: ['thresholds'] });
  expect(calibration.layers).toHaveLength(2);
  const compared = await command('compare', '--scheme', 'bands.json', '--json');
  expect(JSON.parse(compared.stdout).schemes[1]).toMatchObject({
    id: 'bands',
    status: 'measured',
    calibration: { source: 'given' },
  });
});

test.each<[string, RegExp]>([
  ['tuned', /a path that ends in \.json/],
  ['no/such/folder.json', /a file in a folder that exists/],
  ['notes.json', /this one holds something else/],
  ['folder.json', /this one holds something else/],
])('--out %s is refused before anything is measured', async (out, message) => {
  writeFileSync(join(directory, 'notes.json'), '{"mine": true}');
  mkdirSync(join(directory, 'folder.json'), { recursive: true });
  // The capture is not even opened.
  const args = ['tune', '--budget-bits', '6', '--capture', 'none.safetensors', '--out', out];
  const { code, stdout, stderr } = await runHere(args, { directory });
  expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
  expect(stderr).toMatch(/^error OPTION_INVALID: --out cannot be written/m);
  expect(stderr).toMatch(message);
  expect(readFileSync(join(directory, 'notes.json'), 'utf8')).toBe('{"mine": true}');
});

test('a calibrated scheme file is a candidate again, and is exported with its calibration', async () => {
  const args = ['--budget-bits', '8', ...WINDOWS, '--scheme'];
  const made = await command('tune', ...args, 'oaken-sm', '--id', 'first', '--out', 'first.json');
  expect(made.stderr).not.toContain('error');
  const file = JSON.parse(readFileSync(join(directory, 'first.json'), 'utf8'));
  // As a scheme for all layers: what the first layer has.
  const { key, value } = file.scheme.overrides[0];
  const whole = defineScheme({ ...file.scheme, overrides: undefined, key, value });
  const calibration = { ...file.calibration, scheme: schemeFingerprint(whole) };
  const content = { ...file, scheme: whole, calibration };
  writeFileSync(join(directory, 'whole.json'), JSON.stringify(content));
  const again = await command('tune', ...args, './whole.json', '--id', 'again', '--json');
  expect(again.stderr).not.toContain('error');
  const { candidates, leftOut } = JSON.parse(again.stdout) as TuneReport;
  expect(leftOut).toEqual([]);
  expect(candidates.key.map(({ presets }) => presets)).toContainEqual(['first']);
  const exported = await command('export-onnx', '--scheme', './whole.json', '--out', 'graphs');
  expect(exported).toMatchObject({ code: 0 });
  const written = readFileSync(join(directory, 'graphs', 'calibration.json'), 'utf8');
  expect(JSON.parse(written)).toEqual(calibration);
});

test('an impossible budget says the lowest one', async () => {
  const args = ['--budget-bits', '2', ...WINDOWS, '--scheme', 'kivi-2bit-g32', '--out', 'no.json'];
  const { code, stdout, stderr } = await command('tune', ...args);
  expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
  expect(stderr).toMatch(/^error OPTION_INVALID: no choice .*valid: .*at least 3:/m);
});

test.each<[string[], RegExp]>([
  [[], /required option '--budget-bits <bits>'/],
  [['--budget-bits', 'few'], /It must be a number above 0/],
  [['--budget-bits', '3', '--sinks', '-1'], /It must be an integer of at least 0/],
])('%j is a usage error', async (args, message) => {
  const { code, stdout, stderr } = await command('tune', ...args);
  expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
  expect(stderr).toMatch(message);
});

test('a file that is no scheme is refused with its reason', async () => {
  writeFileSync(join(directory, 'cut.json'), '{"schemeFile": 1,');
  const cut = await command('compare', '--scheme', './cut.json');
  expect(cut).toMatchObject({ code: 1, stdout: '' });
  expect(cut.stderr).toMatch(/^error SCHEME_NOT_FOUND: the file of a scheme cannot be read/m);
  writeFileSync(join(directory, 'other.json'), '{"schemeFile": 1, "scheme": {}, "provenance": {}}');
  const other = await command('compare', '--scheme', './other.json');
  expect(other.stderr).toMatch(/^error SPEC_VERSION_UNSUPPORTED/m);
  const nowhere = await command('tune', '--budget-bits', '4', '--scheme', './nothing.json');
  expect(nowhere.stderr).toMatch(/Check the path/);
});
