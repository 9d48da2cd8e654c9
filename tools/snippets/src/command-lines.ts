/**
 * Checks the lines of shell blocks: commands that there are, with options that they have and files that are there.
 */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import { run, Terminal } from 'lowbit-kv';
import { type Block, ROOT } from './blocks.js';

const { scripts: SCRIPTS } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as {
  scripts: Record<string, string>;
};

/** Lines without comments, continued ones joined. */
export function commandLines({ text }: Block): string[] {
  return text
    .replaceAll('\\\n', ' ')
    .split('\n')
    .map((line) => line.replace(/\s+#.*$/, '').trim())
    .filter((line) => line !== '');
}

/** Undefined when the line is right, else what is wrong. */
export async function wrongCommand(block: Block, line: string): Promise<string | undefined> {
  // A variable takes what a command prints.
  const words = wordsOf(/^\w+=\$\((.*)\)$/.exec(line)?.[1] ?? line);
  if (words.includes('&&')) {
    const halves = line.split('&&').map((half) => wrongCommand(block, half.trim()));
    return (await Promise.all(halves)).find((wrong) => wrong !== undefined);
  }
  const { file } = block;
  const [first, ...rest] = words[0] === 'npx' ? words.slice(words[1] === '-y' ? 2 : 1) : words;
  if (first === 'lowbit-kv') return wrongOptions(rest);
  if (first === 'pnpm' || first?.startsWith('pnpm@')) return wrongPnpm(rest, file);
  if (first === 'npm')
    return NPM.includes(rest[0] ?? '') ? undefined : `npm ${rest[0]} is not known`;
  if (first === 'node') return missingFile(rest[0] ?? '', file);
  if (first !== undefined && ENGINES.includes(first)) return missingEngineFile(rest, file);
  return first === 'publint' ? undefined : `${first} is not known`;
}

/** Of clusters and containers: their own options are not checked, files are, below the folder of the document. */
const ENGINES = ['cd', 'docker', 'kubectl', 'sbatch'];

function missingEngineFile(words: readonly string[], file: string): string | undefined {
  const folder = join(ROOT, dirname(file));
  const there = new Set(
    readdirSync(folder, { recursive: true, encoding: 'utf8' }).flatMap((path) => [
      path,
      basename(path),
    ]),
  );
  const named = words.filter((word) => /\.(sh|ya?ml)$/.test(word));
  const missing = named.find((word) => !there.has(word));
  return missing === undefined ? undefined : `${missing} is not there`;
}

const NPM = ['install', 'test', 'pack', 'publish'];

async function wrongPnpm(words: readonly string[], file: string): Promise<string | undefined> {
  const [command = '', ...rest] = words;
  if (command === '--dir') return wrongPnpm(rest.slice(1), file);
  if (command === '--filter') return isPackage(rest[0] ?? '') ? undefined : `no package ${rest[0]}`;
  if (command === 'add') {
    const unknown = rest.filter((name) => !isPackage(name) && !PEERS.includes(name));
    return unknown.length === 0 ? undefined : `no package ${unknown.join(', ')}`;
  }
  if (command === 'exec') {
    const missing = rest.filter((word) => /\.[cm]?ts$|\//.test(word) && !word.startsWith('@'));
    return missing.map((word) => missingFile(word, 'README.md')).find((one) => one !== undefined);
  }
  if (command === 'start') return missingFile('package.json', file);
  const script = SCRIPTS[command];
  if (script === undefined) return `no script ${command}`;
  return script.endsWith(`main.ts ${command}`) ? wrongOptions([command, ...rest]) : undefined;
}

/** Peers that users install beside our packages. */
const PEERS = ['onnxruntime-node', 'webgpu'];

/** Read as the command reads them, and not run. */
async function wrongOptions(args: readonly string[]): Promise<string | undefined> {
  const errors: string[] = [];
  const terminal = new Terminal({
    stdout: { write: () => undefined },
    stderr: { write: (text) => errors.push(text) },
    environment: {},
    directory: ROOT,
  });
  const code = await run([...args, '--no-config-file', '--print-config'], terminal);
  if (code !== 0) return errors.join('');
  const files = args.filter((word) => word.startsWith('./packages/'));
  return files.map((word) => missingFile(word, 'README.md')).find((one) => one !== undefined);
}

/** Relative to the folder of the Markdown file. */
function missingFile(path: string, file: string): string | undefined {
  return existsSync(resolve(ROOT, dirname(file), path)) ? undefined : `${path} is not there`;
}

function isPackage(name: string): boolean {
  return ['packages', 'examples']
    .flatMap((parent) =>
      readdirSync(join(ROOT, parent)).map((folder) => join(ROOT, parent, folder)),
    )
    .some((folder) => {
      const manifest = join(folder, 'package.json');
      return existsSync(manifest) && JSON.parse(readFileSync(manifest, 'utf8')).name === name;
    });
}

/** As a shell splits them. */
function wordsOf(line: string): string[] {
  return [...line.matchAll(/"([^"]*)"|'([^']*)'|(\S+)/g)].map(
    ([, double, single, plain]) => double ?? single ?? plain ?? '',
  );
}
