// CSV, Markdown and JSON of a report, and how files are written.
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { homedir, tmpdir } from 'node:os';
import { join } from 'node:path';
import { compareReportSchema, evalReportSchema } from '@lowbit-kv/harness';
import { parseHTML } from 'linkedom';
import { afterAll, describe, expect, it } from 'vitest';
import {
  REPORT_FILES,
  renderCsv,
  renderMarkdown,
  withoutHome,
  writeReportFiles,
} from '../src/index.js';
import {
  BENCH,
  compareReport,
  evalReport,
  HOSTILE,
  hostileBench,
  hostileEvaluation,
  hostileReport,
} from './support/reports.js';

const folder = mkdtempSync(join(tmpdir(), 'lowbit-kv-report-'));
afterAll(() => rmSync(folder, { recursive: true }));

describe('CSV', () => {
  it('has a row per scheme under stable names, with the exact figures', () => {
    const [head, f16, kivi] = renderCsv(compareReport).split('\r\n');
    expect(head).toBe(
      'id,title,fingerprint,status,verdict,reason,pareto,bits_attended,bits_total,bits_packed,output_nmse,worst_layer,worst_layer_nmse,worst_head_layer,worst_head,worst_head_nmse,key_nmse,value_nmse,bytes_8192,f16_bytes_8192,bytes_32768,f16_bytes_32768,bytes_131072,f16_bytes_131072',
    );
    expect(f16).toMatch(/^f16,"f16, the baseline",/);
    const row = compareReport.schemes[1];
    if (row?.status !== 'measured') throw new Error('no measured scheme');
    const cells = kivi?.split(',') ?? [];
    expect(kivi?.startsWith(`${row.id},`)).toBe(true);
    expect(cells.at(-1)).toBe(String(row.memory[2]?.f16Bytes));
    expect(kivi).toContain(`,${row.bits.attended},${row.bits.total},`);
    expect(kivi).toContain(`,${row.output.worstHead.nmse},${row.key.nmse},${row.value.nmse},`);
  });

  it('of an evaluation has its own columns; every row is as long as the head', () => {
    const lines = renderCsv(evalReport).trimEnd().split('\r\n');
    expect(lines).toHaveLength(1 + evalReport.schemes.length);
    expect(lines[0]).toContain('kl_mean,kl_p99,kl_max');
    const [, , four] = evalReport.schemes;
    if (four?.status !== 'measured') throw new Error('no measured scheme');
    expect(lines[3]).toContain(`,${four.divergence.mean},${four.divergence.p99},`);
  });

  it('quotes what has commas and quotes, and defuses formulas', () => {
    const csv = renderCsv(hostileReport('=HYPERLINK("http://x")'));
    expect(csv).toContain('"\'=HYPERLINK(""http://x"")"');
    expect(csv).not.toContain(',=');
  });
});

it('Markdown keeps texts of others inside code spans', () => {
  const text = renderMarkdown(hostileReport(), { command: 'a `b` <img src=x>' });
  expect(text).toMatch(/^# Comparison on a capture\n/);
  expect(text).toContain('- command: `` a `b` <img src=x> ``');
});

it('home folders become ~, names that begin alike do not', () => {
  expect(withoutHome({ a: ['/home/u/x', '/home/u', '/home/user', '-/home/u'] }, '/home/u')).toEqual(
    {
      a: ['~/x', '~', '/home/user', '-/home/u'],
    },
  );
  expect(withoutHome('"/home/u/x"', '/home/u/')).toBe('"~/x"');
});

describe('files', () => {
  it('are those named, satisfy the schema and replace older ones without leaving any', async () => {
    const out = join(folder, 'new', 'out');
    for (const report of [evalReport, compareReport]) {
      const paths = await writeReportFiles(out, report, { command: `x ${homedir()}/capture` });
      expect(paths).toEqual(REPORT_FILES.map((name) => join(out, name)));
    }
    expect(readdirSync(out).sort()).toEqual([...REPORT_FILES].sort());
    const json = JSON.parse(readFileSync(join(out, 'report.json'), 'utf8'));
    expect(compareReportSchema.parse(json).schemes).toEqual(compareReport.schemes);
    expect(evalReportSchema.safeParse(json).success).toBe(false);
    expect(readFileSync(join(out, 'report.html'), 'utf8')).toContain('<dd>x ~/capture</dd>');
  });

  it('are refused where they cannot be', async () => {
    const file = join(folder, 'file');
    writeFileSync(file, '');
    await expect(writeReportFiles(join(file, 'out'), compareReport)).rejects.toMatchObject({
      code: 'OPTION_INVALID',
      value: join(file, 'out'),
    });
  });
});

it.each([
  ['comparison', hostileReport()],
  ['evaluation', hostileEvaluation()],
])('texts of others are never markup in the page of a hostile %s', async (name, report) => {
  const out = join(folder, `hostile ${name}`);
  await writeReportFiles(out, report, {
    configs: { [HOSTILE]: HOSTILE },
    benches: [hostileBench()],
    ...{ version: HOSTILE, commit: HOSTILE, command: HOSTILE, machine: HOSTILE },
  });
  const page = readFileSync(join(out, 'report.html'), 'utf8');
  expect(page).not.toContain('<img');
  expect(page.match(/<\/script>/g)).toHaveLength(1);
  expect(page).not.toMatch(/\son\w+=["']/);
  expect(page).toContain('&lt;img src=x onerror=alert(1)&gt;');
  expect(page).not.toContain('\u202e');
  const { document } = parseHTML(page);
  // What the text asks for is not there, wherever it stands.
  expect(document.querySelectorAll('img, iframe, [onerror]')).toHaveLength(0);
  expect(document.querySelectorAll('script')).toHaveLength(1);
});

it('the source commit, the version and each benchmark are in the provenance', async () => {
  const out = join(folder, 'provenance');
  const context = { version: 'lowbit-kv 1.2.3', commit: 'c0ffee', benches: [BENCH] };
  await writeReportFiles(out, compareReport, context);
  const page = readFileSync(join(out, 'report.html'), 'utf8');
  expect(page).toContain('<dt>version</dt><dd>lowbit-kv 1.2.3</dd>');
  expect(page).toContain('<dt>source commit</dt><dd>c0ffee</dd>');
  expect(page).toMatch(
    /<dt>benchmark<\/dt><dd>card\.json; 2026-12-01T.*; lowbit-kv 0\.1\.0; .*a card/,
  );
  expect(renderMarkdown(compareReport, context)).toContain('- source commit: `c0ffee`');
});
