// A next step that names an option names one that there is.
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { quietProgram } from './support/quiet-program.js';

const packages = fileURLToPath(new URL('../..', import.meta.url));

/** Of npm, node, git and nvidia-smi, and the one that every command has. */
const FOREIGN = new Set([
  ...['--ignore-scripts', '--input-type', '--eval', '--help'],
  ...['--always', '--dirty', '--abbrev', '--exclude', '--query-gpu', '--format'],
]);

function ownOptions(): Set<string> {
  const program = quietProgram();
  return new Set(
    [program, ...program.commands].flatMap(({ options: own }) => own.map(({ long }) => long ?? '')),
  );
}

/** In texts and comments. */
function* flagsInSources(): Generator<readonly [file: string, flag: string]> {
  for (const name of ['cli', 'harness', 'model-onnx', 'core']) {
    const source = join(packages, name, 'src');
    for (const file of readdirSync(source, { recursive: true, encoding: 'utf8' })) {
      if (!file.endsWith('.ts')) continue;
      const text = readFileSync(join(source, file), 'utf8');
      for (const [, flag = ''] of text.matchAll(/(?<![\w-])(--[a-z][a-z\d-]+[a-z\d])/g))
        yield [`${name}/${file}`, flag];
    }
  }
}

test('every option that a message or a comment names exists', () => {
  const known = ownOptions();
  expect(known).toContain('--model-file');
  const found = [...flagsInSources()];
  expect(found.length).toBeGreaterThan(100);
  expect(found.filter(([, flag]) => !known.has(flag) && !FOREIGN.has(flag))).toEqual([]);
});
