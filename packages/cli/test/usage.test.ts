// Help, version and wrong command lines.
import { expect, test } from 'vitest';
import { runCli } from './support/run-cli.js';
import { runHere } from './support/run-here.js';

test('--help starts with examples and goes to stdout', async () => {
  const { code, stdout, stderr } = await runCli(['--help']);
  expect(code).toBe(0);
  expect(stderr).toBe('');
  expect(stdout).toMatch(/^Examples:\n {2}\$ lowbit-kv compare /);
  for (const name of ['compare', 'tune', 'schemes', 'doctor', 'export-onnx'])
    expect(stdout).toMatch(new RegExp(`^ {2}${name} `, 'm'));
});

test('--help of a command starts with its examples', async () => {
  const { code, stdout } = await runHere(['compare', '--help']);
  expect(code).toBe(0);
  expect(stdout).toMatch(/^Examples:\n {2}\$ lowbit-kv compare\n/);
  expect(stdout).toContain('--capture <file>');
});

test('--version prints the version alone', async () => {
  expect(await runHere(['--version'])).toMatchObject({ code: 0, stdout: '0.1.0\n', stderr: '' });
});

test.each<[string[], RegExp]>([
  [[], /^Examples:/],
  [['compar'], /unknown command 'compar'\n\(Did you mean compare\?\)/],
  [['compare', '--jsn'], /unknown option '--jsn'\n\(Did you mean --json\?\)/],
  [['compare', '--backend', 'metal'], /Allowed choices are reference, onnx/],
  [['compare', '--json', '--markdown'], /'--json' cannot be used with option '--markdown'/],
  [['compare', 'file.safetensors'], /too many arguments/],
  [['schemes', '--markdown'], /unknown option '--markdown'/],
  [['export-onnx', '--scheme', 'kivi-2bit-g32'], /required option '--out <directory>'/],
])('%j is a usage error', async (args, message) => {
  const { code, stdout, stderr } = await runHere(args);
  expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
  expect(stderr).toMatch(message);
});

test('a usage error is the exit code of the process', async () => {
  const { code, stdout, stderr } = await runCli(['compare', '--jsn']);
  expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
  expect(stderr).toMatch(/Did you mean --json\?/);
});
