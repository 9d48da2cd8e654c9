// `lowbit-kv generate` through WebGPU: SwiftShader under dawn, in a process as a user starts it.
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { unpacked } from '../../backend-webgpu/test/support/unpacked.js';
import { runCli } from './support/run-cli.js';
import { tinyWorkspace } from './support/tiny-workspace.js';

const { cache, directory, here } = tinyWorkspace();
/** Long enough for packed tokens. */
const PROMPT = 'the river ran low and nobody came to that shore. '.repeat(3);

test('a few tokens, and the process ends', { timeout: 90_000 }, async () => {
  const args = ['--scheme', 'kivi-4bit-g32', '--prompt', PROMPT, '--max-tokens', '12'];
  const reference = await here('generate', args);
  const folder = await unpacked('swiftshader');
  const command = ['generate', '--model', 'model', '--threads', '1', '--backend', 'webgpu'];
  const { code, signal, stdout, stderr } = await runCli([...command, ...args], {
    directory,
    environment: {
      XDG_CACHE_HOME: cache,
      XDG_RUNTIME_DIR: tmpdir(),
      VK_ICD_FILENAMES: join(folder, 'vk_swiftshader_icd.json'),
      LD_LIBRARY_PATH: folder,
    },
  });
  expect({ code, signal }, stderr).toEqual({ code: 0, signal: null });
  expect(stdout).toBe(reference.stdout);
  expect(stdout.length).toBeGreaterThan(8);
  // The same bytes, whichever backend packs them.
  const held = /cache of \d+ tokens: [\d.]+ MB/;
  expect(held.exec(stderr)?.[0]).toBe(held.exec(reference.stderr)?.[0]);
  expect(Number(/([\d.]+) times as much/.exec(stderr)?.[1])).toBeGreaterThan(1.2);
});
