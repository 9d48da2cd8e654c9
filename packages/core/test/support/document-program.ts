/**
 * Runs the JavaScript of a document: all ```js blocks in order, as one program, imports bound to the given modules.
 */
import { inspect } from 'node:util';

export interface DocumentProgram {
  readonly code: string;
  /** What the document says each block prints: the ```text block right after it. */
  readonly expected: string;
}

/** Collects the ```js blocks of a document, and the ```text block that directly follows one. */
export function documentProgram(markdown: string): DocumentProgram {
  const code: string[] = [];
  const expected: string[] = [];
  for (const [, source = '', output] of markdown.matchAll(
    /```js\n([\s\S]*?)```(?:\n\n```text\n([\s\S]*?)```)?/g,
  )) {
    code.push(source);
    if (output !== undefined) expected.push(output);
  }
  return { code: code.join('\n'), expected: expected.join('') };
}

/** Runs a program and returns what it logged. `given`: names that it finds in its surroundings. */
export async function runProgram(
  code: string,
  modules: Readonly<Record<string, object>>,
  given: Readonly<Record<string, unknown>> = {},
): Promise<string> {
  const bound = code.replace(
    /^import (\{[^}]*\}) from '([^']+)';$/gm,
    (_all, names: string, module: string) => {
      if (!(module in modules)) throw new Error(`the document imports ${module}`);
      return `const ${names.replaceAll(' as ', ': ')} = modules[${JSON.stringify(module)}];`;
    },
  );
  const lines: string[] = [];
  const console = {
    log: (...values: unknown[]) =>
      lines.push(
        values.map((value) => (typeof value === 'string' ? value : inspect(value))).join(' '),
      ),
  };
  const AsyncFunction = (async () => undefined).constructor as new (
    ...texts: string[]
  ) => (...values: unknown[]) => Promise<void>;
  const names = ['modules', 'console', ...Object.keys(given)];
  await new AsyncFunction(...names, bound)(modules, console, ...Object.values(given));
  return lines.map((line) => `${line}\n`).join('');
}
