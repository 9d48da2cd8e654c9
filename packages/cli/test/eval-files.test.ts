// `--out` of eval: a report of a model as files, with the memory of that model.
import { readdirSync, readFileSync } from 'node:fs';
import { evalReportSchema } from '@lowbit-kv/harness';
import { REPORT_FILES } from '@lowbit-kv/report';
import { expect, test } from 'vitest';
import { evaluations, windows } from './support/evaluations.js';
import { tinyWorkspace } from './support/tiny-workspace.js';

const workspace = tinyWorkspace();
const { evaluated } = evaluations(workspace);
const { path } = workspace;

test('eval --out writes every file, and prints what it prints without', async () => {
  const args = ['--scheme', 'kivi-2bit-g32', ...windows(1, 200), '--json'];
  const { code, stdout, stderr } = await evaluated([...args, '--out', 'report']);
  expect(code, stderr).toBe(0);
  expect(readdirSync(path('report')).sort()).toEqual([...REPORT_FILES].sort());
  const read = (name: string) => readFileSync(path(`report/${name}`), 'utf8');
  const printed = evalReportSchema.parse(JSON.parse(stdout));
  const written = evalReportSchema.parse(JSON.parse(read('report.json')));
  expect(written.schemes).toEqual(printed.schemes);
  expect(read('report.md')).toContain('## Verdicts');
  const page = read('report.html');
  expect(page).toContain('import { presets } from &#39;@lowbit-kv/scheme-kivi&#39;;');
  expect(page).toContain('KL');

  const [, f16 = '', two = ''] = read('report.csv').split('\r\n');
  expect(f16).toMatch(/^f16,/);
  expect(two).toMatch(/^kivi-2bit-g32,/);

  // Tokens that fit on a card, of f16 and of the scheme, from plans of this model.
  const section = page.slice(page.indexOf('<h2 id="memory">'));
  const rows = [...section.matchAll(/<tr><th scope="row">([^<]+)<\/th>/g)].map(([, id]) => id);
  expect(rows.slice(0, 2)).toEqual(['f16', 'kivi-2bit-g32']);
});
