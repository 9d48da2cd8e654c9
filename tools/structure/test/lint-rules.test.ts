// The layer rules of biome.jsonc bite: samples are linted where they would lie in the workspace.
import { spawnSync } from 'node:child_process';
import { copyFileSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { repositoryRoot } from '../src/workspace.js';

const scheme = 'packages/scheme-kivi/src';
const schemeTest = 'packages/scheme-kivi/test';
const backend = 'packages/backend-onnx/src';
const backendTest = 'packages/backend-onnx/test';
const core = 'packages/core/src';
const harness = 'packages/harness/src';
const model = 'packages/model-onnx/src';
const cli = 'packages/cli/src';

const use = (specifier: string) => `import * as used from '${specifier}';\nexport { used };\n`;
const namedZ = "import { z } from 'zod';\nexport { z };\n";
const imports = 'lint/style/noRestrictedImports';
const nodeModule = 'lint/correctness/noNodejsModules';
const nodeGlobal = 'lint/style/noRestrictedGlobals';

const refused: [folder: string, text: string, rule: string][] = [
  [scheme, use('inversify'), imports],
  [scheme, use('@inversifyjs/container'), imports],
  [scheme, use('@lowbit-kv/backend-onnx'), imports],
  [scheme, use('../../backend-onnx/src/index.js'), imports],
  [scheme, use('@lowbit-kv/harness'), imports],
  [scheme, namedZ, imports],
  [scheme, use('node:fs'), nodeModule],
  [scheme, 'export const home = process.env.HOME;\n', nodeGlobal],
  [schemeTest, use('@lowbit-kv/backend-onnx'), imports],
  ['packages/scheme-new/src', use('@lowbit-kv/backend-new'), imports],
  [backend, use('@lowbit-kv/scheme-kivi'), imports],
  [backend, use('../../scheme-kivi/src/index.js'), imports],
  [backend, "export const load = () => import('@lowbit-kv/scheme-new');\n", imports],
  [backend, "export type { Preset } from '@lowbit-kv/scheme-kivi';\n", imports],
  [backendTest, use('@lowbit-kv/scheme-kivi'), imports],
  ['packages/backend-new/src', use('@lowbit-kv/scheme-kivi'), imports],
  [backend, use('inversify'), imports],
  [core, use('@lowbit-kv/scheme-kivi'), imports],
  [core, use('@lowbit-kv/backend-onnx'), imports],
  [core, use('@lowbit-kv/harness'), imports],
  [core, namedZ, imports],
  [core, use('node:buffer'), nodeModule],
  [core, "export const bytes = Buffer.from('');\n", nodeGlobal],
  [harness, use('@lowbit-kv/backend-onnx'), imports],
  [harness, use('@lowbit-kv/scheme-kivi'), imports],
  [backend, use('@lowbit-kv/model-onnx'), imports],
  [core, use('@lowbit-kv/model-onnx'), imports],
  [harness, use('@lowbit-kv/model-onnx'), imports],
  [model, use('@lowbit-kv/scheme-kivi'), imports],
  [model, use('@lowbit-kv/backend-onnx'), imports],
  [model, use('@lowbit-kv/backend-cuda'), imports],
  [cli, use('inversify'), imports],
  [cli, namedZ, imports],
];

const allowed: [folder: string, text: string][] = [
  [scheme, use('@lowbit-kv/core')],
  [scheme, use('zod')],
  [scheme, use('./scheme-presets.js')],
  [schemeTest, use('node:fs')],
  [core, use('inversify')],
  [core, use('./scheme.js')],
  [core, use('./backend.js')],
  [backend, use('onnxruntime-node')],
  [backend, use('node:fs')],
  [harness, use('node:fs')],
  [model, use('@lowbit-kv/harness')],
  [model, use('@lowbit-kv/backend-onnx/graph')],
  [cli, use('@lowbit-kv/scheme-kivi')],
  [cli, use('@lowbit-kv/backend-onnx')],
];

type Diagnostic = { readonly category: string; readonly location: { readonly path: string } };

const workspace = mkdtempSync(join(tmpdir(), 'lowbit-kv-lint-'));
const complaints = new Map<string, string[]>();
const place = (folder: string, kind: string, index: number) => `${folder}/${kind}-${index}.ts`;

beforeAll(() => {
  const write = (path: string, text: string) => {
    mkdirSync(join(workspace, dirname(path)), { recursive: true });
    writeFileSync(join(workspace, path), text);
  };
  for (const name of ['biome.jsonc', '.gitignore']) {
    copyFileSync(join(repositoryRoot, name), join(workspace, name));
  }
  for (const [index, [folder, text]] of refused.entries()) {
    write(place(folder, 'refused', index), text);
  }
  for (const [index, [folder, text]] of allowed.entries()) {
    write(place(folder, 'allowed', index), text);
  }
  const biome = join(repositoryRoot, 'node_modules/@biomejs/biome/bin/biome');
  const flags = ['lint', '--reporter=json', '--max-diagnostics=none', '.'];
  const { stdout, stderr, error } = spawnSync(process.execPath, [biome, ...flags], {
    cwd: workspace,
    encoding: 'utf8',
  });
  if (error) throw error;
  const start = stdout.indexOf('{');
  if (start < 0) throw new Error(`biome gave no report: ${stdout}${stderr}`);
  const report = JSON.parse(stdout.slice(start)) as { diagnostics: Diagnostic[] };
  for (const { category, location } of report.diagnostics) {
    complaints.set(location.path, [...(complaints.get(location.path) ?? []), category]);
  }
});

afterAll(() => rmSync(workspace, { recursive: true }));

test.each(refused.map((sample, index) => [...sample, index] as const))(
  '%s may not say %j',
  (folder, _text, rule, index) => {
    expect(complaints.get(place(folder, 'refused', index))).toEqual([rule]);
  },
);

test.each(allowed.map((sample, index) => [...sample, index] as const))(
  '%s may say %j',
  (folder, _text, index) => {
    expect(complaints.get(place(folder, 'allowed', index))).toBeUndefined();
  },
);
