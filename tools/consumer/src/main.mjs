// What a stranger gets: every package is packed, installed with npm into an empty project outside the workspace, run
// under plain Node and type-checked. Needs a build and the npm registry.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const repository = fileURLToPath(new URL('../../..', import.meta.url));
const { packageManager } = readJson(join(repository, 'package.json'));
const work = mkdtempSync(join(tmpdir(), 'lowbit-kv-consumer-'));
const project = join(work, 'project');

try {
  install(pack());
  checkInstalled();
  useFromCode();
  useCommand();
  useConfiguration();
  checkTypes();
  console.log('The packed packages work in an empty project.');
} finally {
  rmSync(work, { recursive: true });
}

/** Tarballs by package name. */
function pack() {
  const tarballs = join(work, 'tarballs');
  mkdirSync(tarballs);
  const dependencies = {};
  for (const folder of readdirSync(join(repository, 'packages'))) {
    const root = join(repository, 'packages', folder);
    const { name } = readJson(join(root, 'package.json'));
    assert(existsSync(join(root, 'dist')), `${name} is not built: run pnpm build first`);
    const before = new Set(readdirSync(tarballs));
    run(root, 'npx', ['-y', packageManager, 'pack', '--pack-destination', tarballs]);
    const tarball = readdirSync(tarballs).find((file) => !before.has(file));
    assert(tarball !== undefined, `${name} gave no tarball`);
    dependencies[name] = `file:${join(tarballs, tarball)}`;
  }
  return dependencies;
}

function install(dependencies) {
  mkdirSync(project);
  const manifest = { name: 'consumer', private: true, type: 'module', dependencies };
  writeFileSync(join(project, 'package.json'), JSON.stringify(manifest, null, 2));
  for (const file of ['use.mjs', 'types.ts', 'tsconfig.json'])
    copyFileSync(join(repository, 'tools/consumer/project', file), join(project, file));
  copyFileSync(
    join(repository, 'examples/custom-scheme/my-scheme.js'),
    join(project, 'my-scheme.js'),
  );
  run(project, 'npm', ['install', '--no-audit', '--no-fund', '--loglevel=error']);
}

/** One copy of core, no workspace ranges left, and no native runtime that nobody asked for. */
function checkInstalled() {
  const modules = join(project, 'node_modules');
  const manifests = readdirSync(modules, { recursive: true, encoding: 'utf8' }).filter((path) =>
    /(^|[/\\])@lowbit-kv[/\\][^/\\]+[/\\]package\.json$/.test(path),
  );
  const names = manifests.map((path) => readJson(join(modules, path)).name);
  assert.equal(names.filter((name) => name === '@lowbit-kv/core').length, 1, 'copies of core');
  assert.equal(new Set(names).size, names.length, `duplicates in ${names}`);
  for (const path of manifests)
    assert(!readFileSync(join(modules, path), 'utf8').includes('workspace:'), path);
  assert(!existsSync(join(modules, 'onnxruntime-node')), 'onnxruntime-node is an optional peer');
}

function useFromCode() {
  assert.match(run(project, process.execPath, ['use.mjs']), /^used 2 schemes$/m);
}

function useCommand() {
  const command = join(project, 'node_modules/.bin/lowbit-kv');
  const json = (...args) => JSON.parse(run(project, command, [...args, '--json']));
  assert(json('schemes').schemes.length > 10);

  const doctor = json('doctor');
  assert.equal(doctor.ok, true);
  assert.equal(doctor.coreCopies.length, 1);
  // Peers that nobody installed here.
  const [runtime, gpu, cuda, ...others] = doctor.problems;
  assert.deepEqual(others, []);
  for (const { severity } of [runtime, gpu, cuda]) assert.equal(severity, 'optional');
  assert.match(runtime.next, /npm install .*onnxruntime-node/);
  assert.match(gpu.next, /add webgpu/);
  assert.match(
    cuda.what,
    /^backend cuda: (the library of the NVIDIA driver|the NVIDIA driver finds no card|.*no kernels)/,
  );

  const report = json('compare', '--scheme', 'kivi-2bit-g32', './my-scheme.js');
  assert.equal(report.valid, true);
  assert.deepEqual(
    report.schemes.map(({ id, status }) => `${id} ${status}`),
    ['f16 measured', 'kivi-2bit-g32 measured', 'my-3bit-keys-4bit-values measured'],
  );

  // Graphs are made without ONNX Runtime; running them needs it, and says so.
  run(project, command, ['export-onnx', '--scheme', './my-scheme.js', '--out', 'graphs']);
  assert(readdirSync(join(project, 'graphs')).some((file) => file.endsWith('attention.onnx')));
  const missing = spawnSync(command, ['compare', '--backend', 'onnx'], {
    cwd: project,
    encoding: 'utf8',
  });
  assert.equal(missing.status, 1);
  assert.equal(missing.stdout, '');
  assert.match(missing.stderr, /onnxruntime-node/);
}

/** In TypeScript, without a build step. */
function useConfiguration() {
  const command = join(project, 'node_modules/.bin/lowbit-kv');
  writeFileSync(
    join(project, 'lowbit-kv.config.ts'),
    [
      "import { type Config, defineConfig } from 'lowbit-kv';",
      "const shared: Config = { scheme: ['./my-scheme.js'] };",
      'export default defineConfig({ ...shared, compare: { positions: 7 } });',
    ].join('\n'),
  );
  const printed = run(project, command, ['compare', '--print-config']);
  assert.match(printed, /^positions +7 +compare\.positions of .*lowbit-kv\.config\.ts$/m);
  assert.match(printed, /^scheme +\[".*\/my-scheme\.js"\] +scheme of /m);
}

function checkTypes() {
  run(project, process.execPath, [join(repository, 'node_modules/typescript/bin/tsc')]);
}

function run(cwd, command, args) {
  console.log(`$ ${[command, ...args].join(' ')}`);
  const { status, stdout, stderr, error } = spawnSync(command, args, {
    cwd,
    encoding: 'utf8',
    // A stranger's project knows nothing of the workspace's conditions and settings.
    env: { PATH: process.env.PATH, HOME: process.env.HOME, ...registrySettings() },
    maxBuffer: 2 ** 28,
  });
  if (error) throw error;
  assert.equal(status, 0, `${command} ended with ${status}\n${stdout}${stderr}`);
  return stdout;
}

/** Mirrors and proxies, where a machine needs them to reach the registry. */
function registrySettings() {
  return Object.fromEntries(
    Object.entries(process.env).filter(([name]) =>
      /^(npm_config_(registry|cache|cafile)|(https?|no)_proxy|NODE_EXTRA_CA_CERTS)$/i.test(name),
    ),
  );
}

function readJson(path) {
  return JSON.parse(readFileSync(path, 'utf8'));
}
