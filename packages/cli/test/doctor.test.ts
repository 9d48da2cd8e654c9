// `lowbit-kv doctor`.
import { cpSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { buildFakeLibrary, compiler } from '../../backend-cuda/test/support/compile-fake.js';
import { BUILTIN_PACKAGES, builtinSchemes } from '../src/schemes/builtin-schemes.js';
import { runCli } from './support/run-cli.js';
import { temporaryDirectory } from './support/temporary-directory.js';

const directory = temporaryDirectory();
// Each run loads every backend in a process of its own.
const timeout = { timeout: 90_000 };

test('everything is found and works here', timeout, async () => {
  const { code, stdout, stderr } = await runCli(['doctor', '--json']);
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  const report = JSON.parse(stdout);
  expect(report).toMatchObject({
    reportVersion: 1,
    ok: true,
    node: { version: process.versions.node },
    onnxRuntime: { installed: true, loads: true, version: expect.stringMatching(/^1\./) },
  });
  expect(
    report.problems.filter(({ what }: { what: string }) => !/^backend (webgpu|cuda)/.test(what)),
  ).toEqual([]);
  expect(report.coreCopies).toHaveLength(1);
  expect(report.packages.map(({ name }: { name: string }) => name)).toEqual([
    'lowbit-kv',
    '@lowbit-kv/backend-cuda',
    '@lowbit-kv/backend-onnx',
    '@lowbit-kv/backend-webgpu',
    '@lowbit-kv/core',
    '@lowbit-kv/harness',
    '@lowbit-kv/model-onnx',
    '@lowbit-kv/report',
    ...[...BUILTIN_PACKAGES].sort(),
  ]);
  expect(report.schemes).toEqual(
    (await builtinSchemes()).map(({ scheme, source }) => ({
      id: scheme.id,
      source,
      reason: null,
      support: [
        { backend: 'reference', kind: 'native' },
        expect.objectContaining({ backend: 'onnx', kind: expect.not.stringContaining('refused') }),
      ],
    })),
  );
  expect(report.backends).toMatchObject([
    { id: 'reference', required: true, reason: null },
    { id: 'onnx', required: false, reason: null },
    { id: 'webgpu', required: false },
    { id: 'cuda', required: false },
  ]);
  const cuda = report.backends[3];
  if (cuda.reason === null) expect(cuda.device).toMatch(/compute capability.*kernels sm_/);
  else expect(cuda.reason).toMatch(/NVIDIA driver/);
  // A machine with a GPU says which one, a machine without says what to install.
  const { device, reason, next } = report.backends[2];
  if (reason === null) expect(device).toMatch(/subgroups of \d+ to \d+.*integer dot products.*GiB/);
  else {
    expect(reason).toBe('dawn finds no adapter');
    expect(next).toContain('Vulkan');
    expect(report.problems).toContainEqual({
      severity: 'optional',
      what: `backend webgpu: ${reason}`,
      next,
    });
  }
});

test(
  "a second copy of core in the user's project is found, and so is a package that is missing",
  timeout,
  async () => {
    const project = join(directory, 'project');
    const core = join(project, 'node_modules/@lowbit-kv/core');
    const plugin = join(project, 'node_modules/lowbit-kv-scheme-mine');
    for (const folder of [core, plugin]) mkdirSync(folder, { recursive: true });
    const coreManifest = fileURLToPath(new URL('../../core/package.json', import.meta.url));
    cpSync(coreManifest, join(core, 'package.json'));
    writeFileSync(
      join(plugin, 'package.json'),
      JSON.stringify({ name: 'lowbit-kv-scheme-mine', version: '3.2.1' }),
    );
    writeFileSync(
      join(project, 'package.json'),
      JSON.stringify({
        dependencies: { 'lowbit-kv-scheme-mine': '3', 'lowbit-kv-scheme-gone': '1', zod: '4' },
      }),
    );
    const { code, stdout } = await runCli(['doctor'], { directory: project });
    expect(code).toBe(1);
    expect(stdout).toMatch(/ok {2}lowbit-kv-scheme-mine 3\.2\.1 /);
    expect(stdout).toMatch(new RegExp(`0\\.1\\.0 ${core}, used by lowbit-kv-scheme-mine$`, 'm'));
    expect(stdout).toMatch(/optional {2}2 copies of @lowbit-kv\/core .*\n +fix: npm dedupe/);
    expect(stdout).toMatch(
      /broken {2}lowbit-kv-scheme-gone is not installed\n +fix: npm install lowbit-kv-scheme-gone/,
    );
  },
);

test.skipIf(compiler === undefined || process.platform !== 'linux')(
  'a CUDA driver that is too old: a libcuda in C takes its place',
  timeout,
  async () => {
    const { folder, remove } = buildFakeLibrary();
    const environment = { LD_LIBRARY_PATH: folder, FAKE_CUDA_VERSION: '11040' };
    const { stdout } = await runCli(['doctor', '--json'], { environment });
    remove();
    expect(JSON.parse(stdout).backends[3]).toEqual({
      id: 'cuda',
      required: false,
      device: null,
      reason: 'the NVIDIA driver is too old (a driver for CUDA 11.4)',
      next: 'Install NVIDIA driver 520 or newer (CUDA 11.8).',
    });
  },
);

test.skipIf(compiler === undefined || process.platform !== 'linux')(
  'a card that runs the kernels: a libcuda in C takes its place',
  timeout,
  async () => {
    const { folder, remove } = buildFakeLibrary();
    const { stdout } = await runCli(['doctor', '--json'], {
      environment: { LD_LIBRARY_PATH: folder },
    });
    remove();
    expect(JSON.parse(stdout).backends[3]).toEqual({
      id: 'cuda',
      required: false,
      device: expect.stringMatching(/compute capability .*driver for CUDA .*kernels (sm|ptx)_/),
      reason: null,
      next: null,
    });
  },
);
