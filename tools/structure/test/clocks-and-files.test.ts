// Who may ask for the date, which jumps, and who may write files, which a kill can cut: sources of all packages.
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { filesBelow, packagesIn } from '../src/workspace.js';

const sources = packagesIn('packages').flatMap(({ path }) =>
  filesBelow(join(path, 'src'), ['.ts']),
);

/** Everything else counts time with performance.now, which never goes back. */
const DATES: Readonly<Record<string, string>> = {
  'packages/harness/src/bench/bench.ts': 'the date in a benchmark',
  'packages/cli/src/bench/bench-file.ts': 'the name of its file',
  'packages/core/src/programs/checks.ts': 'a seed',
};

/** What tools/faults breaks at every call; everything else writes through these. */
const WRITERS: Readonly<Record<string, string>> = {
  'packages/harness/src/write-whole.ts': 'whole files',
  'packages/model-onnx/src/hub/part-file.ts': 'downloads that are not whole yet',
};
const WRITING =
  /^(append|cp|copy|link|rename|symlink|truncate|write|createWriteStream)(File)?(Sync)?$/;

const asksForDate = (text: string) => /\bnew Date\(\)|\bDate\.now\(|= new Date\b/.test(text);

function writesFiles(text: string): boolean {
  const imports = [...text.matchAll(/import \{([^}]*)\} from 'node:fs(?:\/promises)?';/g)];
  const names = imports.flatMap(([, list = '']) => list.split(',').map((name) => name.trim()));
  const opensToWrite = names.includes('open') && /\bopen\([^)]*, '(w|a|r\+)/.test(text);
  return opensToWrite || names.some((name) => WRITING.test(name));
}

test('the date is asked for where it is said, and nowhere else', () => {
  const asking = sources.filter(({ text }) => asksForDate(text)).map(({ path }) => path);
  expect(asking.sort()).toEqual(Object.keys(DATES).sort());
});

test('files are written where faults are tried out, and nowhere else', () => {
  const writing = sources.filter(({ text }) => writesFiles(text)).map(({ path }) => path);
  expect(writing.sort()).toEqual(Object.keys(WRITERS).sort());
});

test('the rules see what they are for', () => {
  expect(asksForDate('const start = Date.now();')).toBe(true);
  expect(asksForDate('const start = performance.now();')).toBe(false);
  for (const line of [
    "import { writeFile } from 'node:fs/promises';",
    "import { readFileSync, renameSync } from 'node:fs';",
    "import { open } from 'node:fs/promises';\nawait open(path, 'wx');",
  ])
    expect(writesFiles(line), line).toBe(true);
  for (const line of [
    "import { readFile, mkdir } from 'node:fs/promises';",
    "import { open } from 'node:fs/promises';\nawait open(path, 'r');",
  ])
    expect(writesFiles(line), line).toBe(false);
});
