/**
 * Checks TypeScript blocks with the compiler, as a user of the packages would.
 */
import { spawnSync } from 'node:child_process';
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { ROOT } from './blocks.js';

const modules = fileURLToPath(new URL('../node_modules', import.meta.url));

/** What the compiler says of programs, by the name of each; nothing where they are right. `folder` is empty. */
export function checkTypes(folder: string, programs: Readonly<Record<string, string>>): string[] {
  mkdirSync(folder, { recursive: true });
  symlinkSync(modules, join(folder, 'node_modules'));
  const compilerOptions = {
    ...{ target: 'ES2022', lib: ['ES2023', 'ESNext.Float16'], strict: true, noEmit: true },
    ...{ module: 'ESNext', moduleResolution: 'Bundler', moduleDetection: 'force' },
    ...{ skipLibCheck: true, types: ['node'], typeRoots: [join(ROOT, 'node_modules/@types')] },
    customConditions: ['@lowbit-kv/source'],
    // Sources of the packages are read too.
    experimentalDecorators: true,
  };
  writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify({ compilerOptions }));
  const names = Object.keys(programs);
  for (const [i, name] of names.entries())
    writeFileSync(join(folder, `block${i}.ts`), programs[name] as string);
  const compiler = join(ROOT, 'node_modules/typescript/bin/tsc');
  const { stdout, stderr, error } = spawnSync(process.execPath, [compiler, '--pretty', 'false'], {
    cwd: folder,
    encoding: 'utf8',
  });
  if (error !== undefined) throw error;
  if (stderr !== '') throw new Error(stderr);
  return stdout
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => line.replace(/^block(\d+)\.ts/, (_, i: string) => names[Number(i)] ?? ''));
}
