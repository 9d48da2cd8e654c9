// `--model org/name`: from a hub, then from the cache.
import { afterAll, beforeAll, expect, test } from 'vitest';
import { TinyHub } from '../../model-onnx/test/support/tiny-hub.js';
import type { HereOptions } from './support/run-here.js';
import { tinyModelFiles } from './support/tiny-model.js';
import { tinyWorkspace } from './support/tiny-workspace.js';

const { here } = tinyWorkspace();
const hub = new TinyHub('somebody/tiny-model');
let commit = '';

beforeAll(async () => {
  const files = Object.entries(tinyModelFiles()).map(
    ([path, content]) =>
      [path, { bytes: Buffer.from(content), lfs: path.endsWith('.onnx') }] as const,
  );
  commit = hub.push(Object.fromEntries(files));
  await hub.start();
});
afterAll(() => hub.stop());

const generated = (args: readonly string[], options: HereOptions = {}) =>
  here(
    'generate',
    [
      ...['--prompt', 'the river', '--scheme', 'kivi-4bit-g32', '--max-tokens', '20'],
      ...['--model', hub.name, ...args],
    ],
    { ...options, environment: { HF_ENDPOINT: hub.endpoint, ...options.environment } },
  );

test('fetched once, with the commit and the size on stderr', async () => {
  const expected = await generated(['--model', 'model']);
  const first = await generated([], { isTTY: true, environment: { HF_TOKEN: 'hf_secret' } });
  expect(first.code, first.stderr).toBe(0);
  expect(first.stdout).toBe(expected.stdout);
  expect(first.stderr).toMatch(new RegExp(`${hub.name} at ${commit}: \\d\\.\\d\\d MB\n`));
  expect(first.stderr).toMatch(/onnx\/model\.onnx: \d\.\d\d MB of \d\.\d\d MB/);
  expect(first.stderr).not.toContain('hf_secret');
  expect(hub.requests[0]?.authorization).toBe('Bearer hf_secret');
  expect(hub.filesAsked()).toHaveLength(Object.keys(tinyModelFiles()).length);

  const { sent } = hub;
  const second = await generated([]);
  expect(second.stdout).toBe(expected.stdout);
  expect(second.stderr).toContain(`${hub.name} at ${commit}: from the cache`);
  expect(hub.sent).toBe(sent);

  const { length } = hub.requests;
  const offline = await generated(['--offline']);
  expect(offline.stdout).toBe(expected.stdout);
  expect(offline.stderr).toContain('from the cache');
  const pinned = await generated(['--offline', '--revision', commit]);
  expect(pinned.stdout).toBe(expected.stdout);
  expect(hub.requests).toHaveLength(length);
});

test('an evaluation names the commit', async () => {
  const { code, stdout, stderr } = await here(
    'eval',
    [
      ...['--model', hub.name, '--text', 'text.txt', '--scheme', 'kivi-4bit-g32', '--json'],
      ...['--windows', '1', '--window', '64'],
    ],
    { environment: { HF_ENDPOINT: hub.endpoint } },
  );
  expect(code, stderr).toBe(0);
  expect(JSON.parse(stdout).model.name).toBe(`${hub.name}@${commit}`);
});

test.each([
  [['--revision', 'nowhere'], /MODEL_DOWNLOAD/],
  [['--model', 'somebody/else'], /MODEL_DOWNLOAD/],
  [['--model', 'somebody/else', '--offline'], /MODEL_DOWNLOAD.*[\s\S]*offline/],
  [['--model-file', 'model_q4'], /MODEL_INVALID|MODEL_DOWNLOAD|OPTION_INVALID/],
])('%j fails with what to do', async (args, message) => {
  const { code, stdout, stderr } = await generated(args);
  expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
  expect(stderr).toMatch(message);
});
