// `--out` of compare: the files of a report, and folders that are refused before anything is measured.
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { compareReportSchema } from '@lowbit-kv/harness';
import { REPORT_FILES } from '@lowbit-kv/report';
import { beforeAll, expect, test } from 'vitest';
import { runHere } from './support/run-here.js';
import { temporaryDirectory } from './support/temporary-directory.js';
import { writeTinyCapture } from './support/tiny-capture.js';

const directory = temporaryDirectory();
beforeAll(() => writeTinyCapture(join(directory, 'tiny.safetensors')));

const compare = (...args: string[]) =>
  runHere(
    [
      'compare',
      '--capture',
      'tiny.safetensors',
      '--scheme',
      'kivi-2bit-g32',
      '--positions',
      '2',
    ].concat(args),
    { directory },
  );

test('compare --out prints what it prints without, and writes every file', async () => {
  const plain = await compare('--json');
  const { code, stdout, stderr } = await compare('--json', '--out', 'new/report');
  expect(code).toBe(0);
  expect(stdout).toBe(plain.stdout);
  const folder = join(directory, 'new/report');
  expect(readdirSync(folder).sort()).toEqual([...REPORT_FILES].sort());
  expect(stderr).toContain(`Written: ${join(folder, 'report.json')}`);
  const read = (name: string) => readFileSync(join(folder, name), 'utf8');
  const report = compareReportSchema.parse(JSON.parse(read('report.json')));
  expect(report.schemes.map(({ id }) => id)).toEqual(['f16', 'kivi-2bit-g32']);
  expect(read('report.csv').split('\r\n')[2]).toMatch(/^kivi-2bit-g32,/);
  expect(read('report.md')).toContain('## Verdicts');
  const page = read('report.html');
  expect(page).toContain('import { presets } from &#39;@lowbit-kv/scheme-kivi&#39;;');
  expect(page).toContain('<dt>version</dt><dd>lowbit-kv 0.1.0</dd>');
});

test.each([
  ['compare', '--capture', 'missing.safetensors'],
  ['eval', '--model', 'missing', '--text', 'missing.txt'],
])('%s refuses a folder that cannot be written to before it reads anything', async (...args) => {
  writeFileSync(join(directory, 'file'), '');
  const { code, stdout, stderr } = await runHere([...args, '--out', 'file/report'], { directory });
  expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
  expect(stderr).toContain('OPTION_INVALID');
  expect(stderr).toContain('file/report');
  expect(readFileSync(join(directory, 'file'), 'utf8')).toBe('');
});

test('--out without a folder is a usage error', async () => {
  const { code, stderr } = await runHere(['compare', '--out']);
  expect(code).toBe(2);
  expect(stderr).toContain("'--out <folder>' argument missing");
});

test('--bench adds what a benchmark measured, and the page says from where', async () => {
  const args = ['--scheme', 'kivi-2bit-g32', '--tokens', '96', '192', '--heads', '2/1'];
  const bench = [...args, '--head-dim', '32', '--samples', '1', '--warm-up', '0'];
  const measured = await runHere(['bench', ...bench, '--out', 'speed.json'], { directory });
  expect(measured.code, measured.stderr).toBe(0);
  const { code, stderr } = await compare('--out', 'with-speed', '--bench', 'speed.json');
  expect(code, stderr).toBe(0);
  const page = readFileSync(join(directory, 'with-speed', 'report.html'), 'utf8');
  const section = page.slice(page.indexOf('<h2 id="speed">'), page.indexOf('<h2 id="schemes">'));
  expect(section).toMatch(
    /<h3>reference: 1 sequence of 1 new token, 2 query heads on 1 kv heads of 32/,
  );
  expect(section).toMatch(
    /<th scope="row">kivi-2bit-g32<\/th>.*(from about|at 96 tokens already|not up to 192)/,
  );
  expect(page).toMatch(/<dt>benchmark<\/dt><dd>speed\.json; \d{4}-/);
  const text = readFileSync(join(directory, 'with-speed', 'report.md'), 'utf8');
  expect(text).toContain('## Speed');
});

test('--bench without --out, a file that is missing and one of another kind are refused before anything runs', async () => {
  writeFileSync(join(directory, 'other.json'), '{"reportVersion":1}');
  for (const [args, message] of [
    [['--bench', 'speed.json'], /--bench is for the files of --out/],
    [['--out', 'none', '--bench', 'missing.json'], /report cannot be read: ENOENT/],
    [['--out', 'none', '--bench', 'other.json'], /report of another command/],
  ] as const) {
    const { code, stdout, stderr } = await compare(...args);
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
    expect(stderr).toMatch(message);
  }
  expect(existsSync(join(directory, 'none', 'report.html'))).toBe(false);
});
