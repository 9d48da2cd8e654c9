// `lowbit-kv generate`: what ends a text, Ctrl-C among it.
import { existsSync } from 'node:fs';
import { openTokenizer } from '@lowbit-kv/model-onnx';
import { expect, test } from 'vitest';
import { CHAT, generations, PROMPT } from './support/generations.js';
import { greedyTokens } from './support/greedy-tokens.js';
import { runCli } from './support/run-cli.js';
import { CONTEXT, EOS, tinyModelFiles, writeFiles } from './support/tiny-model.js';
import { tinyWorkspace } from './support/tiny-workspace.js';

const workspace = tinyWorkspace();
const { cache, directory, path } = workspace;
const TWO = 'kivi-2bit-g32';
const { generated, textOf } = generations(workspace);

const tokenizerOf = () => openTokenizer(path('model'));

test('a token that ends texts', async () => {
  const [first, second, ...rest] = await greedyTokens(workspace, CHAT, 60);
  const other = rest.find((token) => token !== first && token !== second) as number;
  const tokens = [first, second, ...rest.slice(0, rest.indexOf(other) + 1)] as number[];
  await writeFiles(path('ends'), {
    ...tinyModelFiles(),
    'generation_config.json': JSON.stringify({ eos_token_id: [EOS, other] }),
  });
  const args = ['--model', 'ends', '--scheme', TWO];
  const { code, stdout, stderr } = await generated(args);
  expect(code).toBe(0);
  expect(stdout).toBe(`${(await tokenizerOf()).decode(tokens)}\n`);
  expect(stderr).toMatch(new RegExp(`^${tokens.length} tokens, .* \\(end of text\\)`, 'm'));
});

test('the context of the model', async () => {
  const prompt = (await tokenizerOf()).encode(CHAT).length;
  const room = CONTEXT - prompt;
  const { code, stdout, stderr } = await generated([
    ...['--scheme', TWO, '--max-tokens', String(room + 1)],
  ]);
  expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
  expect(stderr).toContain('prompt and text do not fit the context of the model');
  expect(stderr).toContain(`Ask for at most ${room} tokens`);
  const long = await generated(['--scheme', TWO, '--prompt', 'low '.repeat(CONTEXT / 4)]);
  expect(long.stderr).toMatch(/do not fit the context[\s\S]*Shorten the prompt/);
});

test('an interruption: the text stays', async () => {
  const args = ['--scheme', TWO, '--max-tokens', '100', '--against-f16'];
  const { code, stdout, stderr, pieces } = await generated(args, {
    interruptAt: (text, stream) => stream === 'stdout' && text.includes('v'),
  });
  expect(code).toBe(130);
  expect(pieces.length).toBeGreaterThan(5);
  expect(stdout).toBe(`${(await textOf(...args)).slice(0, stdout.length - 1)}\n`);
  expect(stdout).toMatch(/v\n$/);
  expect(stderr).toMatch(/^\d+ tokens, .* \(interrupted\)/m);
  expect(stderr).toMatch(/^cache of \d+ tokens/m);
  expect(stderr).not.toContain('f16 gives');
});

test('an interruption of the comparison with f16', async () => {
  const args = ['--scheme', TWO, '--max-tokens', '100', '--against-f16'];
  const { code, stdout, stderr } = await generated(args, {
    interruptAt: (text, stream) => stream === 'stderr' && text.startsWith('cache of'),
  });
  expect(code).toBe(130);
  expect(stdout).toBe(await textOf(...args));
  expect(stderr).toMatch(/^100 tokens, [\s\S]*\nInterrupted\.\n$/m);
  expect(stderr).not.toContain('f16 gives');
});

test('Ctrl-C ends the process with 130, and the text stays', async () => {
  const args = ['generate', '--model', 'model', '--threads', '1', '--prompt', PROMPT];
  const { code, signal, stdout, stderr } = await runCli(
    [...args, '--scheme', 'f16', '--max-tokens', '2000'],
    {
      directory,
      environment: { XDG_CACHE_HOME: cache },
      interruptWhen: (text) => text.length > 3,
    },
  );
  expect({ code, signal }).toEqual({ code: 130, signal: null });
  const [, tokens = ''] = /^(\d+) tokens, .* \(interrupted\)/m.exec(stderr) ?? [];
  expect(stdout).toBe(await textOf('--scheme', 'f16', '--max-tokens', tokens));
});

test.skipIf(!existsSync('/dev/full'))(
  'a full disk under stdout is told, without a stack',
  async () => {
    const { code, stderr } = await runCli(['schemes'], { stdoutFile: '/dev/full' });
    expect(code).toBe(1);
    expect(stderr).toMatch(/^error: stdout: .*ENOSPC/);
    expect(stderr).not.toContain('    at ');
  },
);
