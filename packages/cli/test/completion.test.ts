// Completion scripts: bash runs them; those of zsh and fish have the words, and run where these shells are.
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { SHELLS } from '../src/completion/scripts.js';
import { quietProgram } from './support/quiet-program.js';
import { runHere } from './support/run-here.js';

const folder = mkdtempSync(join(tmpdir(), 'lowbit-kv-completion-'));
afterAll(() => rmSync(folder, { recursive: true }));
const scripts = new Map<string, string>();

beforeAll(async () => {
  for (const shell of SHELLS) {
    const { code, stdout } = await runHere(['completion', shell], { directory: folder });
    expect(code).toBe(0);
    writeFileSync(join(folder, shell), stdout);
    scripts.set(shell, stdout);
  }
});

const has = (shell: string) => spawnSync(shell, ['--version']).error === undefined;

/** What bash offers for the last of these words. */
function complete(...words: readonly string[]): string[] {
  const line = ['lowbit-kv', ...words].map((word) => `'${word}'`).join(' ');
  const script = `
    compopt() { echo "compopt $*"; }
    source ${join(folder, 'bash')}
    COMP_WORDS=(${line}); COMP_CWORD=${words.length}
    _lowbit_kv
    printf '%s\\n' "\${COMPREPLY[@]}"`;
  const { stdout, stderr, status } = spawnSync('bash', ['-c', script], { encoding: 'utf8' });
  expect({ stderr, status }).toEqual({ stderr: '', status: 0 });
  return stdout.split('\n').filter((found) => found !== '');
}

describe.skipIf(!has('bash'))('bash', () => {
  test.each<[string[], string[]]>([
    [['comp'], ['compare', 'completion']],
    [['compare', '--back'], ['--backend']],
    [['compare', '--print'], ['--print-config']],
    [['compare', '--backend', 'o'], ['onnx']],
    [
      ['completion', ''],
      ['bash', 'zsh', 'fish'],
    ],
    [['compare', '--scheme', 'turbo'], ['turboquant']],
    [['compare', '--backend', 'onnx', '--pos'], ['--positions']],
    [['compare', '--scheme', 'kivi-4bit-g3'], ['kivi-4bit-g32']],
    [
      ['compare', '--scheme', 'kivi', 'oaken-s'],
      ['oaken-sm', 'oaken-sm-token'],
    ],
    [['export-onnx', '--scheme', 'kivi-4bit-g32', '--o'], ['--out']],
    [['--config-file', ''], ['compopt -o default']],
    [['eval', '--model', ''], ['compopt -o default']],
    [['inspect', 'some-file'], ['compopt -o default']],
  ])('%j offers %j', (words, offered) => {
    const found = complete(...words);
    expect(found).toEqual(expect.arrayContaining(offered));
    for (const word of found)
      expect(word.startsWith(words.at(-1) as string) || word.startsWith('compopt')).toBe(true);
  });

  test('all commands for an empty word', () => {
    expect(complete('')).toEqual(
      expect.arrayContaining(['compare', 'eval', 'doctor', '--version']),
    );
  });
});

test.each(SHELLS)('%s: every command and option', (shell) => {
  const script = scripts.get(shell) as string;
  for (const command of quietProgram().commands) {
    expect(script).toContain(command.name());
    for (const { long } of command.options) {
      const flag = shell === 'fish' ? `-l ${(long as string).slice(2)} ` : (long as string);
      expect(script).toContain(flag);
    }
  }
  expect(script).toContain('kivi-4bit-g32');
});

test.each(['zsh', 'fish'] as const)('%s reads its script', (shell) => {
  if (!has(shell)) return;
  const { status, stderr } = spawnSync(shell, ['-n', join(folder, shell)], { encoding: 'utf8' });
  expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
});

test('another shell is refused with those that there are', async () => {
  const { code, stderr } = await runHere(['completion', 'tcsh'], { directory: folder });
  expect(code).toBe(2);
  expect(stderr).toMatch(/Allowed choices are bash, zsh, fish/);
});
