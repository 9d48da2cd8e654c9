/**
 * Writes src/shaders/parts.generated.ts from the .wgsl files beside it: text that every bundler and runtime can import.
 */
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const shaders = new URL('../src/shaders/', import.meta.url);

/** The module as it should be, of the files of a folder. */
export function embeddedShaders(folder: URL = shaders): string {
  const names = readdirSync(folder).filter((name) => name.endsWith('.wgsl'));
  const entries = names.sort().map((name) => {
    const text = readFileSync(new URL(name, folder), 'utf8');
    return `  '${name.slice(0, -'.wgsl'.length)}': ${JSON.stringify(text)},\n`;
  });
  return [
    '// Generated from the .wgsl files in this folder by scripts/embed-shaders.ts.\n',
    '\n/** WGSL text by file name. */\nexport const SHADER_PARTS = {\n',
    ...entries,
    '} as const;\n',
  ].join('');
}

if (process.argv[1] === fileURLToPath(import.meta.url))
  writeFileSync(new URL('parts.generated.ts', shaders), embeddedShaders());
