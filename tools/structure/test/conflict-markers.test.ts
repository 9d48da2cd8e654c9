// No text file of the repository holds what a merge left to be decided.
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { expect, test } from 'vitest';
import { repositoryRoot } from '../src/workspace.js';

// Folders of .gitignore, and git's own: CI needs no git.
const untracked = ['.git', 'node_modules', 'dist', 'coverage', '.turbo'];
const marker = /^(<{7} |\|{7} |={7}$|>{7} )/;

/** Lines with markers, as `path:line: text`. */
function markedLines(root: string, folder = root): string[] {
  return readdirSync(folder, { withFileTypes: true })
    .filter(({ name }) => !untracked.includes(name))
    .flatMap((entry) => {
      const path = join(folder, entry.name);
      if (entry.isDirectory()) return markedLines(root, path);
      if (!entry.isFile()) return [];
      const bytes = readFileSync(path);
      if (bytes.includes(0)) return [];
      return bytes
        .toString()
        .split(/\r?\n/)
        .flatMap((line, i) =>
          marker.test(line) ? [`${relative(root, path)}:${i + 1}: ${line}`] : [],
        );
    });
}

test('no file holds markers of a conflict', () => {
  expect(markedLines(repositoryRoot)).toEqual([]);
});

test('every marker is found in text, and nothing else', () => {
  const root = mkdtempSync(join(tmpdir(), 'lowbit-kv-conflict-'));
  const sample = (name: string, lines: readonly string[]) =>
    writeFileSync(join(root, name), lines.map((line) => `${line}\n`).join(''));
  const seven = (sign: string, rest = '') => sign.repeat(7) + rest;
  const marked = [seven('<', ' HEAD'), seven('|', ' base'), seven('='), seven('>', ' other')];
  try {
    for (const folder of ['inner', 'node_modules']) mkdirSync(join(root, folder));
    sample('inner/marked', marked);
    sample('node_modules/marked', marked);
    sample('plain.md', [seven('=', '='), `a ${seven('<', ' b')}`, '| a | b |', seven('-')]);
    sample('binary', ['\0', ...marked]);
    expect(markedLines(root)).toEqual(
      marked.map((line, i) => `${join('inner', 'marked')}:${i + 1}: ${line}`),
    );
  } finally {
    rmSync(root, { recursive: true });
  }
});
