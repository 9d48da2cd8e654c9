// Every code block of a README or document runs here, is run by another test, or says why nothing runs it.
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { codeBlocks, ROOT } from '../src/blocks.js';
import { checkTypes } from '../src/check-types.js';
import { commandLines, readLine } from '../src/command-lines.js';
import { LINES, OTHERS, RUN_BY, SAME_CALLS } from '../src/elsewhere.js';
import { PROGRAMS } from '../src/programs.js';
import { ReaderFolder } from '../src/reader-folder.js';
import { runProgram } from '../src/run-program.js';
import { PRELUDES } from '../src/type-preludes.js';

const blocks = codeBlocks();
const byId = new Map(blocks.map((block) => [block.id, block]));
const blockOf = (id: string) => byId.get(id) ?? { text: '', language: 'js' };
const runBy = ({ id, file }: { id: string; file: string }) => RUN_BY[id] ?? RUN_BY[file];
const textOf = (path: string) => readFileSync(join(ROOT, path), 'utf8');

const work = mkdtempSync(join(tmpdir(), 'lowbit-kv-snippets-'));
const reader = new ReaderFolder(join(work, 'reader'));
beforeAll(() => reader.fill(), 60_000);
afterAll(() => rmSync(work, { recursive: true }));

test('every block is here once', () => {
  expect(blocks.length).toBeGreaterThan(60);
  const places = (id: string) =>
    [PROGRAMS, SAME_CALLS, OTHERS].filter((table) => Object.hasOwn(table, id)).length;
  const wrong = blocks
    .filter((block) => {
      const here = places(block.id);
      if (runBy(block) !== undefined) return here > 0;
      return block.language === 'sh' ? here > 0 : here !== 1;
    })
    .map(({ id, text }) => `${id}: ${text.slice(0, 80)}`);
  expect(wrong).toEqual([]);
  const named = [PROGRAMS, SAME_CALLS, OTHERS, PRELUDES].flatMap((table) => Object.keys(table));
  expect(named.filter((id) => !byId.has(id))).toEqual([]);
});

test.each(Object.entries(RUN_BY))('%s is run by %s', (id, path) => {
  expect(textOf(path)).toContain(basename(id.split('#')[0] as string));
});

test.each(Object.entries(SAME_CALLS))('%s: a test makes the same calls', (id, same) => {
  for (const call of same.calls) {
    expect(blockOf(id).text).toContain(call);
    expect(textOf(same.test)).toContain(call);
  }
});

describe('programs', () => {
  test.each(Object.entries(PROGRAMS))('%s runs', { timeout: 120_000 }, async (id, program) => {
    expect(await runProgram(blockOf(id), program, reader)).toBe(true);
  });

  test('a program whose result does not hold is told', async () => {
    const block = { text: 'const a: number = 1;\n', language: 'ts' };
    expect(await runProgram(block, { holds: 'a === 2' }, reader)).toBe(false);
    await expect(runProgram(block, { holds: 'missing()' }, reader)).rejects.toThrow(/missing/);
  });
});

test('blocks in TypeScript have the right types', { timeout: 120_000 }, () => {
  const written = blocks.filter(({ language }) => language === 'ts').map(({ id }) => id);
  expect(Object.keys(PRELUDES).sort()).toEqual(written.sort());
  const programs = Object.fromEntries(
    Object.entries(PRELUDES).map(([id, prelude]) => [id, `${prelude}\n${blockOf(id).text}`]),
  );
  const wrong = "import { createPlan } from '@lowbit-kv/core';\ncreatePlan(1);\n";
  const found = checkTypes(join(work, 'types'), { ...programs, wrong });
  expect(found.filter((line) => !line.startsWith('wrong('))).toEqual([]);
  expect(found.join()).toMatch(/^wrong\(2,1\): error TS2554/);
});

describe('lines of shells', () => {
  const lines = blocks
    .filter((block) => block.language === 'sh' && runBy(block) === undefined)
    .flatMap((block) => commandLines(block).map((line) => [block.id, line, block] as const));

  test.each(lines)('%s: %s', { timeout: 120_000 }, async (_, line, block) => {
    const read = readLine(block, line);
    if (read.kind === 'other') {
      if (read.args === undefined) return;
      const printed = await reader.run([...read.args, '--print-config']);
      return expect(printed.code, printed.stderr).toBe(0);
    }
    const { code, stdout, stderr } = await reader.run(read.args);
    // The machine may lack what the doctor wants.
    if (read.args[0] !== 'doctor') expect(code, stderr).toBe(0);
    expect(stdout + stderr).toMatch(/\w/);
  });

  test('every explained line is there', () => {
    const there = lines.map(([, line, { file }]) => `${file}: ${line}`);
    expect(Object.keys(LINES).filter((line) => !there.includes(line))).toEqual([]);
  });

  test('tune writes the fields that its document shows', () => {
    const shown = Object.keys(JSON.parse(blockOf('packages/harness/docs/tuning.md#2').text));
    const written = Object.keys(JSON.parse(readFileSync(reader.path('tuned.json'), 'utf8')));
    expect(shown).toEqual(expect.arrayContaining(written));
    expect(written).toContain('schemeFile');
  });

  test.each([
    ['npx -y pnpm@12.4.2 comparison', /nothing says why/],
    ['pnpm add @lowbit-kv/scheme-none', /no package @lowbit-kv\/scheme-none/],
    ['make all', /nothing says why: make all/],
  ])('%s would be found', (line, message) => {
    const block = { id: '', file: 'README.md', language: 'sh', text: line };
    expect(() => readLine(block, line)).toThrow(message);
  });

  test.each(['compar', 'compare --jsn', 'compare --scheme ./packages/none.ts'])(
    '%s would fail',
    async (line) => {
      expect((await reader.run(line.split(' '))).code).not.toBe(0);
    },
  );
});
