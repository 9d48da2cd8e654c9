/**
 * Lines of shell blocks, read as a shell would: commands of ours, to be run, and others, whose names and files are checked.
 */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import { type Block, ROOT } from './blocks.js';
import { LINES } from './elsewhere.js';

const { scripts: SCRIPTS } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as {
  scripts: Record<string, string>;
};

export type Line =
  /** Arguments of `lowbit-kv`. */
  | { readonly kind: 'ours'; readonly args: readonly string[] }
  /** Not run, for a reason; the arguments are those of ours. */
  | { readonly kind: 'other'; readonly reason: string; readonly args?: readonly string[] };

/** Lines without comments, continued ones joined. */
export function commandLines({ text }: Block): string[] {
  return text
    .replaceAll(/\s*\\\n\s*/g, ' ')
    .split('\n')
    .map((line) => line.replace(/\s+#.*$/, '').trim())
    .filter((line) => line !== '');
}

/** Throws for a line that names what is not there, or that would be neither run nor explained. */
export function readLine({ file }: Block, line: string): Line {
  const words = wordsOf(line.replaceAll('$PWD', workingFolder(file, line)));
  const [first = '', ...rest] = words[0] === 'npx' ? words.slice(words[1] === '-y' ? 2 : 1) : words;
  const isPnpm = first === 'pnpm' || first.startsWith('pnpm@');
  const args = first === 'lowbit-kv' ? rest : isPnpm ? scriptOf(rest) : undefined;
  const reason = LINES[`${file}: ${line}`];
  if (args !== undefined)
    return reason === undefined ? { kind: 'ours', args } : { kind: 'other', reason, args };
  if (['npm install', 'pnpm add'].includes(words.slice(0, 2).join(' '))) {
    for (const name of rest.slice(1)) requirePackage(name);
    return { kind: 'other', reason: 'it needs a registry' };
  }
  if (reason === undefined) throw new Error(`nothing runs it, and nothing says why: ${line}`);
  if (isPnpm) requireParts(rest);
  else requireFiles(line, file);
  return { kind: 'other', reason };
}

/** Where a line is typed: beside the file, where it goes from there to the root of the repository. */
function workingFolder(file: string, line: string): string {
  return line.includes('--dir ../..') ? join(ROOT, dirname(file)) : ROOT.replace(/\/$/, '');
}

/** Arguments of ours that a script of the repository stands for. */
function scriptOf(words: readonly string[]): string[] | undefined {
  const [command = '', ...rest] = words[0] === '--dir' ? words.slice(2) : words;
  const isOurs = SCRIPTS[command]?.endsWith(`packages/cli/src/main.ts ${command}`) ?? false;
  return isOurs ? [command, ...rest] : undefined;
}

/** Packages, scripts and files of a pnpm command. */
function requireParts([command = '', ...rest]: readonly string[]): void {
  if (command === '--filter') requirePackage(rest[0] ?? '');
  else if (command === 'exec') {
    for (const word of rest) if (/^[^-@].*\//.test(word)) requireFile(resolve(ROOT, word));
  } else if (command !== 'start' && SCRIPTS[command] === undefined)
    throw new Error(`no script ${command}`);
}

/** Scripts and manifests, somewhere below the folder of the document. */
function requireFiles(line: string, file: string): void {
  const folder = join(ROOT, dirname(file));
  for (const [path] of line.matchAll(/[\w./-]+\.(sh|ya?ml|[cm]?js)\b/g)) {
    const found = readdirSync(folder, { recursive: true, encoding: 'utf8' }).some(
      (there) => there === path || basename(there) === path,
    );
    if (!found) throw new Error(`${path} is not there`);
  }
}

function requireFile(path: string): void {
  if (!existsSync(path)) throw new Error(`${path} is not there`);
}

/** Peers that users install beside our packages. */
const PEERS = ['onnxruntime-node', 'webgpu'];

function requirePackage(name: string): void {
  const isOurs = ['packages', 'apps', 'examples'].some((parent) =>
    readdirSync(join(ROOT, parent)).some((folder) => {
      const manifest = join(ROOT, parent, folder, 'package.json');
      return existsSync(manifest) && JSON.parse(readFileSync(manifest, 'utf8')).name === name;
    }),
  );
  if (!isOurs && !PEERS.includes(name)) throw new Error(`no package ${name}`);
}

/** As a shell splits them. */
function wordsOf(line: string): string[] {
  return [...line.matchAll(/"([^"]*)"|'([^']*)'|(\S+)/g)].map(
    ([, double, single, plain]) => double ?? single ?? plain ?? '',
  );
}
