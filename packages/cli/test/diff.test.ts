// `lowbit-kv diff`.
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { CompareReport, ReportDiff } from '@lowbit-kv/harness';
import { beforeAll, expect, test } from 'vitest';
import { runHere } from './support/run-here.js';
import { temporaryDirectory } from './support/temporary-directory.js';
import { writeTinyCapture } from './support/tiny-capture.js';

const directory = temporaryDirectory();
const FOUR = 'kivi-4bit-g32';
const diff = (...args: string[]) => runHere(['diff', ...args], { directory });

beforeAll(async () => {
  await writeTinyCapture(join(directory, 'tiny.safetensors'));
  const args = ['--positions', '2', '--scheme', FOUR, '--json'];
  const { stdout } = await runHere(['compare', '--capture', 'tiny.safetensors', ...args], {
    directory,
  });
  writeFileSync(join(directory, 'before.json'), stdout);
  writeChanged('worse.json', ({ schemes: [, row] }) => {
    if (row?.status === 'measured')
      row.output.worstHead = { layer: 5, head: 2, nmse: 2 * (row.output.worstHead.nmse ?? 0) };
  });
  writeChanged('other.json', ({ capture }) => {
    capture.sha256 = 'f'.repeat(64);
  });
  writeFileSync(join(directory, 'broken.json'), stdout.slice(0, 100));
  writeFileSync(join(directory, 'tune.json'), '{"reportVersion":1,"rows":[]}');
  writeChanged('later.json', (report) => Object.assign(report, { reportVersion: 9 }));
});

function writeChanged(name: string, change: (report: CompareReport) => void): void {
  const report = JSON.parse(readFileSync(join(directory, 'before.json'), 'utf8'));
  change(report);
  writeFileSync(join(directory, name), JSON.stringify(report));
}

test('a report and itself', async () => {
  const { code, stdout, stderr } = await diff('before.json', 'before.json', '--fail-if', 'bits>0');
  expect({ code, stderr }).toEqual({ code: 0, stderr: 'gate passed\n' });
  expect(stdout).toMatch(/^0 figures worse, 0 better, \d\d the same/);
});

test('says what got worse; a gate over the change ends with 3', async () => {
  const plain = await diff('before.json', 'worse.json');
  expect(plain).toMatchObject({ code: 0, stderr: '' });
  expect(plain.stdout).toMatch(/^kivi-4bit-g32 +output\.worstHead .* \+100% +- +worse$/m);
  const gated = await diff('--fail-if', 'output.worstHead>5%', 'before.json', 'worse.json');
  expect(gated).toMatchObject({ code: 3, stdout: plain.stdout });
  expect(gated.stderr).toMatch(
    /^gate failed: kivi-4bit-g32 fails output\.worstHead>5%: .* at layer 5 head 2, by 100%$/m,
  );
});

test('--json', async () => {
  const { code, stdout } = await diff('before.json', 'worse.json', '--json');
  expect(code).toBe(0);
  const report = JSON.parse(stdout) as ReportDiff;
  expect(report).toMatchObject({ reportVersion: 1, kind: 'compare', onlyBefore: [] });
  expect(report.rows[1]?.figures.filter(({ outcome }) => outcome !== 'same')).toMatchObject([
    { metric: 'output.worstHead', outcome: 'worse', relative: 1 },
  ]);
});

test('different data are an error, unless allowed', async () => {
  const refused = await diff('before.json', 'other.json');
  expect(refused).toMatchObject({ code: 2, stdout: '' });
  expect(refused.stderr).toMatch(/reports are of different data.*capture\.sha256: .* -> ffff/);
  expect(refused.stderr).toContain('--allow-different-data');
  const allowed = await diff('before.json', 'other.json', '--allow-different-data');
  expect(allowed.code).toBe(0);
  expect(allowed.stdout).toMatch(/^Different data: .*\n {2}capture\.sha256/);
});

test.each([
  [['before.json', 'none.json'], /report cannot be read: ENOENT.*none\.json/],
  [['broken.json', 'before.json'], /report cannot be read: .*JSON.*broken\.json/],
  [['before.json', 'tune.json'], /report of another command.*tune\.json/],
  [['before.json', 'later.json'], /has reportVersion 9.*later\.json/],
  [['before.json', 'before.json', '--fail-if', 'bit>1'], /no metric bit .*\n.*Did you mean bits/],
])('%j fails', async (args, message) => {
  const { code, stdout, stderr } = await diff(...args);
  expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
  expect(stderr).toMatch(/OPTION_INVALID/);
  expect(stderr).toMatch(message);
});

test.each([
  [['before.json'], /missing required argument 'after'/],
  [['a', 'b', 'c'], /too many arguments/],
  [['a', 'b', '--jsn'], /unknown option '--jsn'/],
])('%j is a usage error', async (args, message) => {
  const { code, stdout, stderr } = await diff(...args);
  expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
  expect(stderr).toMatch(message);
});

test('--help starts with examples', async () => {
  const { code, stdout } = await diff('--help');
  expect(code).toBe(0);
  expect(stdout).toMatch(/^Examples:\n {2}\$ lowbit-kv diff before\.json after\.json\n/);
});
