// Every code block of a README or document runs here, is run by another test, or says why nothing runs it.
import { existsSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { codeBlocks, ROOT } from '../src/blocks.js';
import { commandLines, wrongCommand } from '../src/command-lines.js';
import { OTHERS, RUN_BY, SAME_CALLS } from '../src/elsewhere.js';
import { PROGRAMS } from '../src/programs.js';
import { runProgram } from '../src/run-program.js';

const blocks = codeBlocks();
const byId = new Map(blocks.map((block) => [block.id, block]));
const runBy = ({ id, file }: { id: string; file: string }) => RUN_BY[id] ?? RUN_BY[file];

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
  const named = [...Object.keys(PROGRAMS), ...Object.keys(SAME_CALLS), ...Object.keys(OTHERS)];
  expect(named.filter((id) => !byId.has(id))).toEqual([]);
});

test.each(Object.entries(RUN_BY))('%s is run by %s', (id, path) => {
  expect(readFileSync(join(ROOT, path), 'utf8')).toContain(basename(id.split('#')[0] as string));
});

test.each(Object.entries(SAME_CALLS))('%s: there is a test of the same calls', (_, [, path]) => {
  expect(existsSync(join(ROOT, path))).toBe(true);
});

describe('programs', () => {
  test.each(Object.entries(PROGRAMS))('%s runs', { timeout: 60_000 }, async (id, program) => {
    const given = (await program.given?.()) ?? {};
    expect(await runProgram(byId.get(id)?.text ?? '', given, program.holds)).toBe(true);
  });

  test('a program whose result does not hold is told', async () => {
    expect(await runProgram('const a = 1;', {}, 'a === 2')).toBe(false);
    await expect(runProgram('missing();', {}, 'true')).rejects.toThrow(/missing/);
  });
});

const lines = blocks
  .filter((block) => block.language === 'sh' && block.file !== 'docs/write-a-scheme.md')
  .flatMap((block) => commandLines(block).map((line) => [block.id, line, block] as const));

test.each(lines)('%s: %s', async (_, line, block) => {
  expect(await wrongCommand(block, line)).toBeUndefined();
});

test.each([
  'npx lowbit-kv compar',
  'npx lowbit-kv compare --jsn',
  'npx -y pnpm@12.4.2 comparison',
  'pnpm add @lowbit-kv/scheme-none',
  'npx lowbit-kv compare --scheme ./packages/none.ts',
  'make all',
])('%s would be found', async (line) => {
  const block = { id: '', file: 'README.md', language: 'sh', text: line };
  expect(await wrongCommand(block, line)).toMatch(/\w/);
});
