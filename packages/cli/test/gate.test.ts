// `--gate` and `--fail-if` of compare and eval.
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { compareReportSchema } from '@lowbit-kv/harness';
import { beforeAll, describe, expect, test } from 'vitest';
import { evaluations, windows } from './support/evaluations.js';
import { runHere } from './support/run-here.js';
import { temporaryDirectory } from './support/temporary-directory.js';
import { writeTinyCapture } from './support/tiny-capture.js';
import { tinyWorkspace } from './support/tiny-workspace.js';

const FOUR = 'kivi-4bit-g32';
const TWO = 'kivi-2bit-g32';
/** Codes are stored and never read: every key and value comes back as 0. */
const sabotage = readFileSync(new URL('support/codec-scheme.mjs', import.meta.url), 'utf8')
  .replaceAll('signs-only', 'sabotage')
  .replace(
    'for (let i = 0; i < 32; i++)',
    'values.fill(0);\n        for (let i = 32; i < 32; i++)',
  );

describe('compare', () => {
  const directory = temporaryDirectory();
  beforeAll(async () => {
    await writeTinyCapture(join(directory, 'tiny.safetensors'));
    writeFileSync(join(directory, 'sabotage.mjs'), sabotage);
  });
  const compare = (...args: string[]) =>
    runHere(['compare', '--capture', 'tiny.safetensors', '--positions', '2', ...args], {
      directory,
    });

  test('a gate that passes says so on stderr, and the report is the same', async () => {
    const plain = await compare('--scheme', FOUR, '--json');
    const args = ['--gate', '--fail-if', 'bits>16', '--fail-if', 'output.worstHead>0.2'];
    const gated = await compare('--scheme', FOUR, '--json', ...args);
    expect(gated).toMatchObject({ code: 0, stdout: plain.stdout });
    expect(gated.stderr).toMatch(/^gate passed$/m);
    expect(plain.stderr).not.toContain('gate');
  });

  test('a broken scheme fails the built-in gate by name, place and number', async () => {
    const { code, stdout, stderr } = await compare(
      ...['--scheme', './sabotage.mjs', FOUR, '--gate', '--json'],
    );
    expect(code).toBe(3);
    expect(compareReportSchema.parse(JSON.parse(stdout)).schemes.map(({ id }) => id)).toEqual([
      ...['f16', 'sabotage', FOUR],
    ]);
    expect(stderr).toMatch(/^gate failed: sabotage fails .*(all zero|at layer \d head \d)/m);
    expect(stderr).not.toContain(`gate failed: ${FOUR}`);
    // Without a gate the exit code stays that of the report.
    expect((await compare('--scheme', './sabotage.mjs', FOUR)).code).not.toBe(3);
  });

  test('every scheme that crosses a limit is named', async () => {
    const { code, stdout, stderr } = await compare('--scheme', TWO, FOUR, '--fail-if', 'bits>0.5');
    expect(code).toBe(3);
    expect(stdout).toMatch(/^kivi-2bit-g32/m);
    for (const id of [TWO, FOUR])
      expect(stderr).toMatch(new RegExp(`^gate failed: ${id} fails bits>0\\.5: bits \\d`, 'm'));
  });

  test('a scheme that was refused does not pass', async () => {
    const { code, stderr } = await compare(
      '--scheme',
      FOUR,
      'kivi-2bit-g128',
      '--fail-if',
      'bits>99',
    );
    expect(code).toBe(3);
    expect(stderr).toMatch(/^gate failed: kivi-2bit-g128 fails every gate: refused: /m);
  });

  test.each([
    ['kl.p99>1', /OPTION_INVALID: compare reports have no metric kl\.p99.*output\.worstHead/],
    ['output.worsthead>1', /Did you mean output\.worstHead\?/],
    ['bits', /this is no condition/],
  ])('--fail-if %s is refused before anything is measured', async (condition, message) => {
    const { code, stdout, stderr } = await compare('--scheme', FOUR, '--fail-if', condition);
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
    expect(stderr).toMatch(message);
  });
});

describe('eval', () => {
  const workspace = tinyWorkspace();
  const { evaluated } = evaluations(workspace);
  const failIf = (...conditions: string[]) => conditions.flatMap((text) => ['--fail-if', text]);

  test('a scheme that loses everything moves perplexity and fails the gate by name', async () => {
    writeFileSync(workspace.path('sabotage.mjs'), sabotage);
    const { code, stdout, stderr } = await evaluated([
      ...['--scheme', './sabotage.mjs', FOUR, ...windows(1, 200), '--gate'],
      ...failIf('ppl.delta>50%'),
    ]);
    expect(code).toBe(3);
    expect(stdout).toMatch(/^sabotage /m);
    expect(stderr).toMatch(
      /^gate failed: sabotage fails kl\.worstBucket>0\.1: .* at positions \d+ to \d+$/m,
    );
    expect(stderr).toMatch(/^gate failed: sabotage fails output\.worstHead>0\.25: .* layer \d/m);
    expect(stderr).toMatch(/^gate failed: sabotage fails ppl\.delta>50%: ppl\.delta \d+/m);
    expect(stderr).not.toContain(`gate failed: ${FOUR}`);
  });

  test('conditions are read before the model', async () => {
    const { code, stdout, stderr } = await evaluated(failIf('kl.p9>1'));
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
    expect(stderr).toMatch(/OPTION_INVALID: eval reports have no metric kl\.p9.*\n.*kl\.p99\?/);
  });
});
