/**
 * Runs a block of JavaScript or TypeScript as a program, with what it takes as given.
 */

/** Names that a block uses and does not make; `exported` gets its default export. */
export type Given = Readonly<Record<string, unknown>>;

const AsyncFunction = (async () => undefined).constructor as new (
  ...parameters: string[]
) => (...values: unknown[]) => Promise<unknown>;

/** The value of `result`, an expression over what the block made. */
export async function runProgram(text: string, given: Given, result: string): Promise<unknown> {
  const program = text
    .replace(/^export default ([\s\S]*);\n$/m, 'exported.push($1);')
    .replace(
      /^import (?:\* as (\w+)|\{([^}]*)\}) from '([^']+)';$/gm,
      (_, namespace: string | undefined, names: string | undefined, module: string) =>
        `const ${namespace ?? `{${names?.replaceAll(/\bas\b/g, ':')}}`} = await load('${module}');`,
    );
  if (/^import /m.test(program)) throw new Error(`an import was not understood:\n${program}`);
  const load = (module: string) => import(module);
  const run = new AsyncFunction('load', ...Object.keys(given), `${program}\nreturn (${result});`);
  return run(load, ...Object.values(given));
}
