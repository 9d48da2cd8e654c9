// `lowbit-kv compare` on a small capture.
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { stripVTControlCharacters } from 'node:util';
import { createCalibration } from '@lowbit-kv/core';
import {
  captureSamples,
  compareReportSchema,
  type MeasuredRow,
  openCapture,
} from '@lowbit-kv/harness';
import { kivi2 } from '@lowbit-kv/scheme-kivi';
import { oakenSm } from '@lowbit-kv/scheme-oaken';
import { beforeAll, describe, expect, test } from 'vitest';
import { compareElsewhere } from '../src/commands/compare-elsewhere.js';
import { Terminal } from '../src/index.js';
import { builtinSchemes } from '../src/schemes/builtin-schemes.js';
import { runCli } from './support/run-cli.js';
import { runHere } from './support/run-here.js';
import { temporaryDirectory } from './support/temporary-directory.js';
import { TINY_CAPTURE, writeTinyCapture } from './support/tiny-capture.js';

const directory = temporaryDirectory();
const capture = join(directory, 'tiny.safetensors');
beforeAll(() => writeTinyCapture(capture));

const compare = (...args: string[]) =>
  runHere(['compare', '--capture', 'tiny.safetensors', ...args], { directory });

/** Of a command that is started again as `self`. */
function terminalOf(self: readonly string[]): Terminal {
  const streams = { write: () => true };
  return new Terminal({
    ...{ stdout: streams, stderr: streams, environment: process.env, directory, self },
  });
}

describe('reports', () => {
  test('--json with every preset: rows in order, exact bits, errors that follow the bits', async () => {
    const args = ['compare', '--capture', 'tiny.safetensors', '--json'];
    const { code, stdout, stderr } = await runCli(args, { directory });
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    const report = compareReportSchema.parse(JSON.parse(stdout));
    expect(report).toMatchObject({ reportVersion: 1, valid: true, backend: { id: 'reference' } });
    expect(report.capture).toMatchObject({ layers: TINY_CAPTURE.layers, tokens: 200, queries: 6 });
    expect(report.schemes.length).toBeGreaterThan(10);
    expect(report.schemes[0]).toMatchObject({ id: 'f16', verdict: { level: 'baseline' } });
    const measured = new Map(
      report.schemes
        .filter((row): row is MeasuredRow => row.status === 'measured')
        .map((row) => [row.id, row]),
    );
    const error = (id: string) => measured.get(id)?.output.nmse as number;
    expect(error('f16')).toBeLessThan(1e-12);
    expect(error('kivi-4bit-g32')).toBeGreaterThan(1e-5);
    expect(error('kivi-2bit-g32')).toBeGreaterThan(3 * error('kivi-4bit-g32'));
    expect(error('kivi-2bit-g32')).toBeLessThan(1);
    expect(measured.get('kivi-2bit-g32')?.bits.packed?.total).toBeCloseTo(3, 9);
    // Groups of 64 and 128 channels do not fit 32: a row with its reason, not a failure.
    expect(report.schemes.find(({ id }) => id === 'kivi-2bit-g128')).toMatchObject({
      status: 'refused',
      code: 'SHAPE_UNSUPPORTED',
    });
  });

  test('a scheme with a codec, from a file: emulated by the ONNX backend when that is allowed', async () => {
    const source = readFileSync(new URL('support/codec-scheme.mjs', import.meta.url), 'utf8');
    writeFileSync(join(directory, 'codec.mjs'), source);
    const args = ['--scheme', './codec.mjs', '--backend', 'onnx', '--positions', '2'];
    const refused = await compare(...args);
    expect(refused.code).toBe(1);
    const plain = (text: string) => stripVTControlCharacters(text).replace(/\s+/g, ' ');
    expect(plain(refused.stdout)).toMatch(/signs-only: refused: .*has no graph/);
    const allowed = await compare(...args, '--allow-emulation');
    expect(allowed.code).toBe(0);
    expect(plain(allowed.stdout)).toContain(
      'Emulated by the backend: signs-only (key: the codec signs has no graph',
    );
    const { stdout } = await compare('--scheme', './codec.mjs', '--positions', '2', '--json');
    const { schemes } = compareReportSchema.parse(JSON.parse(stdout));
    expect(schemes[1]).toMatchObject({ id: 'signs-only', emulated: [] });
    const row = schemes[1] as MeasuredRow;
    expect(row.bits.packed?.total).toBeCloseTo(1.5, 9);
    expect(row.output.nmse).toBeGreaterThan(1e-3);
  });

  test('--all: every preset of the shelf and what is named besides, the best of each size marked', async () => {
    writeFileSync(
      join(directory, 'mine.mjs'),
      `export default ${JSON.stringify({ ...structuredClone(kivi2), id: 'mine', sinks: 4 })};`,
    );
    const args = ['compare', '--capture', 'tiny.safetensors', '--all', '--positions', '2'];
    const { code, stdout } = await runCli([...args, '--scheme', './mine.mjs', '--json'], {
      directory,
    });
    expect(code).toBe(0);
    const { schemes, paretoFront } = compareReportSchema.parse(JSON.parse(stdout));
    const shelf = (await builtinSchemes()).map(({ scheme }) => scheme.id);
    expect(schemes.map(({ id }) => id)).toEqual(['f16', ...shelf, 'mine']);
    expect(paretoFront.length).toBeGreaterThan(3);
    const points = schemes.flatMap((row) =>
      row.status === 'measured' && !['baseline', 'unmeasured'].includes(row.verdict.level)
        ? [{ id: row.id, bits: row.bits.attended, error: row.output.nmse as number }]
        : [],
    );
    const unbeaten = points.filter(({ bits, error }) =>
      points.every((other) => {
        const beats = other.bits <= bits && other.error <= error;
        return !beats || (other.bits === bits && other.error === error);
      }),
    );
    expect([...paretoFront].sort()).toEqual(unbeaten.map(({ id }) => id).sort());
  }, 120_000);

  test('a comparison that measures nothing is a failure with its reasons', async () => {
    const { code, stdout, stderr } = await compare('--scheme', 'kivi-2bit-g128');
    expect(code).toBe(1);
    expect(stdout).toContain('group sizes');
    expect(stderr).toContain('No scheme could be measured');
  });

  test('two processes give what one gives, to the byte', async () => {
    const args = ['compare', '--capture', 'tiny.safetensors', '--json'];
    const [split, whole] = [await runCli(args, { directory }), await compare('--json')];
    expect(split.code).toBe(0);
    expect(split.stdout).toBe(whole.stdout);
  });

  test('a second process that fails is an error with what it said', async () => {
    const script = 'process.stderr.write("it broke"); process.exitCode = 3';
    const failing = terminalOf([process.execPath, '-e', script, '--']);
    const part = compareElsewhere(failing, [], join(directory, 'half'));
    await expect(part.shard).rejects.toThrow(/MEASUREMENT_INVALID.*exit code 3.*it broke/);
    const silent = terminalOf([process.execPath, '-e', '', '--']);
    const nothing = compareElsewhere(silent, [], join(directory, 'half'));
    await expect(nothing.shard).rejects.toThrow(/SHARD_INVALID.*ENOENT/);
    const missing = compareElsewhere(terminalOf([join(directory, 'none')]), [], directory);
    await expect(missing.shard).rejects.toThrow(/MEASUREMENT_INVALID.*ENOENT/);
  });

  test('text and Markdown: table and verdict of the chosen scheme only', async () => {
    const text = await compare('--scheme', 'kivi-2bit-g32');
    expect(text.code).toBe(0);
    expect(text.stderr).toBe('--scheme kivi-2bit-g32: kivi-2bit-g32 (@lowbit-kv/scheme-kivi)\n');
    expect(text.stdout).toMatch(/^kivi-2bit-g32 +\d+\.\d\d /m);
    expect(text.stdout).toMatch(/^kivi-2bit-g32: +(safe|care|unsafe): /m);
    expect(text.stdout).not.toContain('innerq');
    expect(text.stdout).not.toContain('\u001b');
    const markdown = await compare('--scheme', 'kivi-2bit-g32', '--markdown');
    expect(markdown.stdout).toMatch(/^\| kivi-2bit-g32 +\|/m);
  });

  test('a terminal gets coloured verdicts and progress, unless NO_COLOR is set', async () => {
    const args = ['compare', '--capture', 'tiny.safetensors', '--scheme', 'kivi-2bit-g32'];
    const colored = await runHere(args, { directory, isTTY: true });
    // Once in the table, once before its reason.
    const verdicts = colored.stdout.split('\u001b[31munsafe\u001b[39m').length - 1;
    expect(verdicts).toBe(2);
    expect(colored.stderr).toContain('\r\u001b[2K2/2 kivi-2bit-g32: step 6/');
    const plain = await runHere(args, { directory, isTTY: true, environment: { NO_COLOR: '1' } });
    expect(plain.stdout).not.toContain('\u001b');
    expect(stripVTControlCharacters(colored.stdout)).toBe(plain.stdout);
  });

  test('--backend onnx measures the same', async () => {
    const args = ['--scheme', 'kivi-2bit-g32', 'innerq-base', '--json'];
    const rows = async (backend: string) => {
      const { stdout } = await compare(...args, '--backend', backend);
      const report = compareReportSchema.parse(JSON.parse(stdout));
      expect(report.backend.id).toBe(backend);
      return report.schemes as MeasuredRow[];
    };
    const [reference, onnx] = [await rows('reference'), await rows('onnx')];
    expect(onnx.map(({ id }) => id)).toEqual(['f16', 'kivi-2bit-g32', 'innerq-base']);
    for (const [i, row] of onnx.entries()) {
      const same = reference[i] as MeasuredRow;
      expect(row.bits).toEqual(same.bits);
      expect(row.key.nmse).toBe(same.key.nmse);
      expect(row.output.nmse).toBeCloseTo(same.output.nmse as number, 9);
    }
  });

  test('--calibration is used for its scheme', async () => {
    const opened = await openCapture(capture);
    const provenance = { text: 'the tiny capture' };
    const calibration = await createCalibration(
      oakenSm,
      captureSamples(opened, oakenSm),
      provenance,
    );
    await opened.close();
    writeFileSync(join(directory, 'calibration.json'), JSON.stringify([calibration]));
    const args = ['--calibration', 'calibration.json', '--json'];
    const { code, stdout } = await compare('--scheme', oakenSm.id, ...args);
    expect(code).toBe(0);
    expect(JSON.parse(stdout).schemes[1]).toMatchObject({
      id: oakenSm.id,
      calibration: { source: 'given', description: 'text the tiny capture' },
    });
    const stranger = await compare('--scheme', 'kivi-2bit-g32', ...args);
    expect({ code: stranger.code, stdout: stranger.stdout }).toEqual({ code: 1, stdout: '' });
    expect(stranger.stderr).toMatch(/^error CALIBRATION_INVALID: .*none of the chosen schemes/m);
  });
});

describe('failures have a code, exit code 1 and nothing on stdout', () => {
  const cut = join(directory, 'cut.safetensors');
  beforeAll(() => writeFileSync(cut, readFileSync(capture).subarray(0, 5000)));

  test.each<[string[], RegExp]>([
    [
      ['--capture', 'cut.safetensors'],
      /^error SAFETENSORS_INVALID: .*cut\.safetensors.*\n {2}\S.*\n$/,
    ],
    [['--capture', 'nowhere.safetensors'], /^error SAFETENSORS_INVALID: .*nowhere\.safetensors/],
    [
      ['--scheme', 'kivi-2bit-g33'],
      /^error SCHEME_NOT_FOUND: .*\n {2}Did you mean "kivi-2bit-g32"\?/,
    ],
    [['--calibration', 'nowhere.json'], /^error CALIBRATION_INVALID: .*nowhere\.json/],
  ])('%j', async (args, message) => {
    const { code, stdout, stderr } = await runHere(['compare', ...args], { directory });
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
    expect(stderr).toMatch(message);
    expect(stderr).not.toMatch(/^ +at /m);
  });

  test('a broken capture ends the process with code 1', async () => {
    const args = ['compare', '--capture', 'cut.safetensors', '--json'];
    const { code, stdout, stderr } = await runCli(args, { directory });
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
    expect(stderr).toMatch(/^error SAFETENSORS_INVALID: /);
  });

  test('the stack comes with LOWBIT_KV_LOG=debug', async () => {
    const { code, stderr } = await runHere(['compare', '--capture', 'nowhere.safetensors'], {
      directory,
      environment: { LOWBIT_KV_LOG: 'debug' },
    });
    expect(code).toBe(1);
    expect(stderr).toMatch(/^ +at /m);
    expect(stderr).toMatch(/caused by: Error: ENOENT/);
  });
});
