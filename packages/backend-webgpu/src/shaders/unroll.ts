/**
 * Writes out the loops of a shader whose header ends in `// unrolled`: what they index stays in registers on every compiler.
 */
import type { Constant } from './compose.js';

const HEADER = /^( *)for \(var (\w+) = 0u; \2 < (\w+); \2 \+= 1u\) \{ \/\/ unrolled$/;

/** Longer loops stay: their text would be too long for compilers. */
const MOST_TRIPS = 16;

/** Bounds are constants that are numbers. */
export function unrolled(text: string, constants: Readonly<Record<string, Constant>>): string {
  return expand(text.split('\n'), constants).join('\n');
}

function expand(lines: readonly string[], constants: Readonly<Record<string, Constant>>): string[] {
  const result: string[] = [];
  for (let i = 0; i < lines.length; i++) {
    const line = lines[i] as string;
    const header = HEADER.exec(line);
    if (header === null) {
      result.push(line);
      continue;
    }
    const [, indent, name, bound] = header as unknown as [string, string, string, string];
    const end = lines.indexOf(`${indent}}`, i);
    const count = constants[bound];
    if (end < 0 || typeof count !== 'number')
      throw new TypeError(`a loop that cannot be unrolled: ${line}`);
    const body = expand(lines.slice(i + 1, end), constants);
    if (count > MOST_TRIPS) result.push(line, ...body, `${indent}}`);
    else
      for (let n = 0; n < count; n++)
        result.push(`${indent}{`, `${indent}  const ${name} = ${n}u;`, ...body, `${indent}}`);
    i = end;
  }
  return result;
}
