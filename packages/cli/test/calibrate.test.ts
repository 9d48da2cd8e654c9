// `lowbit-kv calibrate`: the file, which texts are refused, and that it is used.

import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { parseCalibration, schemeFingerprint } from '@lowbit-kv/core';
import { compareReportSchema } from '@lowbit-kv/harness';
import { openCutDecoder, openModelFiles } from '@lowbit-kv/model-onnx';
import { presets as kvquant } from '@lowbit-kv/scheme-kvquant';
import { presets as oaken } from '@lowbit-kv/scheme-oaken';
import { describe, expect, test } from 'vitest';
import { runHere } from './support/run-here.js';
import { tinyModelFiles, tinyText, writeFiles } from './support/tiny-model.js';
import { tinyWorkspace } from './support/tiny-workspace.js';

const { directory, here, path } = tinyWorkspace();

const calibrated = (out: string, ...args: string[]) =>
  here('calibrate', ['--text', 'text.txt', '--tokens', '200', '--out', out, ...args], {
    isTTY: true,
    environment: { NO_COLOR: '1' },
  });

function fingerprintOf(id: string): string {
  const scheme = [...oaken, ...kvquant].find((preset) => preset.id === id);
  if (scheme === undefined) throw new Error(`no preset ${id}`);
  return schemeFingerprint(scheme);
}

const json = async (name: string) => JSON.parse(await readFile(path(name), 'utf8')) as unknown;

describe('the file', () => {
  test('says of what it was measured', async () => {
    const args = ['--scheme', 'oaken-sm', '--first-token', '30'];
    const { code, stderr } = await calibrated('one.json', ...args);
    expect(code).toBe(0);
    expect(stderr).toMatch(/calibrating oaken-sm: run 1\/1, \d+ tokens\/s, 0 s left/);
    expect(stderr).toContain('calibration of oaken-sm; use it with --calibration "one.json"');
    const calibration = parseCalibration(await json('one.json'));
    expect(calibration.scheme).toBe(fingerprintOf('oaken-sm'));
    expect(calibration.layers).toHaveLength(2);
    const decoder = await openCutDecoder(await openModelFiles(path('model')), { threads: 1 });
    await decoder.dispose();
    const text = (await readFile(path('text.txt'), 'utf8')).replaceAll('\r\n', '\n');
    expect(calibration.provenance).toMatchObject({
      model: 'model',
      modelFingerprint: decoder.fingerprint,
      text: 'text.txt',
      textSha256: createHash('sha256').update(text).digest('hex'),
      firstToken: '30',
      tokens: '200',
    });
  });

  test('of several schemes is an array, and depends on the tokens', async () => {
    const args = ['--scheme', 'oaken', 'kvquant-4bit', 'kivi'];
    expect((await calibrated('several.json', ...args)).code).toBe(0);
    const several = ((await json('several.json')) as unknown[]).map(parseCalibration);
    expect(several.map(({ scheme }) => scheme)).toEqual(
      [...oaken.map(({ id }) => id), 'kvquant-4bit'].map(fingerprintOf),
    );
    expect(
      (await calibrated('later.json', '--scheme', 'oaken-sm', '--first-token', '900')).code,
    ).toBe(0);
    const later = parseCalibration(await json('later.json'));
    expect(later.layers).not.toEqual(several[0]?.layers);
  });

  test('of a model with a short context is measured in runs that fit', async () => {
    await writeFiles(path('short'), tinyModelFiles({ context: 128 }));
    const args = ['--scheme', 'oaken-sm', '--model', 'short'];
    const { code, stderr } = await calibrated('short.json', ...args);
    expect(code, stderr).toBe(0);
    expect(stderr).toContain('run 2/2');
    expect(parseCalibration(await json('short.json')).provenance.runTokens).toBe('128');
  });

  test('is read by compare', async () => {
    await writeFiles(directory, { 'other.txt': tinyText(2) });
    const schemes = ['--scheme', 'oaken-sm', 'kvquant-4bit'];
    const args = [...schemes, '--text', 'other.txt'];
    expect((await calibrated('compare.json', ...args)).code).toBe(0);
    const capture = ['--text', 'text.txt', '--tokens', '150', '--out', 'c.safetensors'];
    expect((await here('capture', capture)).code).toBe(0);
    const { code, stdout, stderr } = await runHere(
      [
        ...['compare', '--capture', 'c.safetensors', '--positions', '2', '--json'],
        ...['--calibration', 'compare.json', ...schemes],
      ],
      { directory },
    );
    expect(code, stderr).toBe(0);
    const report = compareReportSchema.parse(JSON.parse(stdout));
    for (const row of report.schemes.slice(1))
      expect(row).toMatchObject({ status: 'measured', calibration: { source: 'given' } });
  });
});

describe('refused', () => {
  test('the text of the evaluation, also with other line ends', async () => {
    const text = await readFile(path('text.txt'), 'utf8');
    await writeFiles(directory, {
      'same.txt': text,
      'lf.txt': text.replaceAll('\r\n', '\n'),
      'different.txt': tinyText(3),
    });
    const args = ['--scheme', 'oaken-sm', '--evaluation-text'];
    for (const name of ['text.txt', 'same.txt', 'lf.txt']) {
      const { code, stderr } = await calibrated('refused.json', ...args, 'different.txt', name);
      expect(code).toBe(1);
      expect(stderr).toMatch(/OPTION_INVALID: schemes would be evaluated on the text/);
      expect(existsSync(path('refused.json'))).toBe(false);
    }
    expect((await calibrated('allowed.json', ...args, 'different.txt')).code).toBe(0);
    const wanted = [...args, 'text.txt', '--allow-evaluation-text'];
    expect((await calibrated('wanted.json', ...wanted)).code).toBe(0);
  });

  test.each<[readonly string[], RegExp]>([
    [['--scheme', 'kivi'], /none of these schemes has an offline calibration/],
    [['--scheme', 'oaken-sm', '--tokens', '100000'], /text\.txt is too short/],
    [['--scheme', 'oaken-sm', '--first-token', '4000'], /too short.*at least 4200/],
    [['--scheme', 'oaken-sm', '--text', 'nowhere.txt'], /the text cannot be read/],
  ])('%j', async (args, message) => {
    const { code, stderr } = await calibrated('refused.json', ...args);
    expect(code).toBe(1);
    expect(stderr).toMatch(/OPTION_INVALID/);
    expect(stderr).toMatch(message);
    expect(stderr).not.toContain('calibrating');
    expect(existsSync(path('refused.json'))).toBe(false);
  });

  test.each<[string, RegExp]>([
    ['calibration.txt', /--out cannot be written.*\.json/],
    ['missing/folder.json', /--out cannot be written.*missing/],
    ['other.json', /--out cannot be written[\s\S]*holds something else/],
    ['numbers.json', /--out cannot be written[\s\S]*holds something else/],
    ['empty.json', /--out cannot be written[\s\S]*holds something else/],
  ])('--out %s, before there is a model', async (out, message) => {
    const files = { 'other.json': '{"name":"mine"}', 'numbers.json': '[1,2]', 'empty.json': '[]' };
    await writeFiles(directory, files);
    const { code, stderr } = await calibrated(out, '--scheme', 'oaken-sm', '--model', 'nowhere');
    expect(code).toBe(1);
    expect(stderr).toMatch(message);
    for (const [name, content] of Object.entries(files))
      expect(await readFile(path(name), 'utf8')).toBe(content);
  });
});

test('an older calibration is replaced', async () => {
  expect((await calibrated('again.json', '--scheme', 'oaken-sm')).code).toBe(0);
  expect((await calibrated('again.json', '--scheme', 'oaken-mm', 'oaken-sm')).code).toBe(0);
  expect(await json('again.json')).toHaveLength(2);
});

test('an interrupted run writes nothing', async () => {
  const { code, stderr } = await here(
    'calibrate',
    [
      ...['--text', 'text.txt', '--tokens', '3000', '--scheme', 'oaken-sm'],
      ...['--out', 'stopped.json'],
    ],
    { isTTY: true, interruptAt: (text) => text.includes('run 1/3') },
  );
  expect(code).toBe(130);
  expect(stderr).not.toContain('run 2/3');
  expect(existsSync(path('stopped.json'))).toBe(false);
});
