/**
 * Runs a block of JavaScript or TypeScript as a program, with what it takes as given.
 */
import { transformSync } from 'esbuild';
import type { Block } from './blocks.js';
import type { Program } from './programs.js';
import type { ReaderFolder } from './reader-folder.js';

const AsyncFunction = (async () => undefined).constructor as new (
  ...parameters: string[]
) => (...values: unknown[]) => Promise<unknown>;

/** What `holds` is in the end. */
export async function runProgram(
  { text, language }: Pick<Block, 'text' | 'language'>,
  { given, modules, paths = [], holds }: Program,
  reader: ReaderFolder,
): Promise<unknown> {
  const ends: (() => unknown)[] = [];
  const values = (await given?.(reader, (work) => ends.unshift(work))) ?? {};
  const own = (await modules?.()) ?? {};
  const load = (name: string) => own[name] ?? import(name);
  const program = `${functionBody(located(text, paths, reader), language)}\nreturn (${holds});`;
  try {
    const run = new AsyncFunction('load', ...Object.keys(values), program);
    return await run(load, ...Object.values(values));
  } finally {
    for (const work of ends) await work();
  }
}

/** Files and folders that a block names lie in the folder of the reader. */
function located(text: string, paths: readonly string[], reader: ReaderFolder): string {
  return paths.reduce((before, path) => {
    if (!before.includes(`'${path}'`)) throw new Error(`the block does not name ${path}`);
    return before.replaceAll(`'${path}'`, JSON.stringify(reader.path(path)));
  }, text);
}

/** Imports become calls of `load`; a default export is pushed onto `exported`. */
function functionBody(text: string, language: string): string {
  const whole = text.replace(/^export default ([\s\S]*);\n$/m, 'exported.push($1);');
  const plain =
    language === 'ts' ? transformSync(whole, { loader: 'ts', target: 'node20' }).code : whole;
  const body = plain.replace(
    /^import (?:\* as (\w+)|\{([^}]*)\}) from ['"]([^'"]+)['"];$/gm,
    (_, namespace: string | undefined, names: string | undefined, module: string) =>
      `const ${namespace ?? `{${names?.replaceAll(/\bas\b/g, ':')}}`} = await load('${module}');`,
  );
  if (/^import /m.test(body)) throw new Error(`an import was not understood:\n${body}`);
  return body;
}
