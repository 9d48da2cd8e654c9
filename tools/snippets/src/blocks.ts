/**
 * Code blocks of the repository's Markdown files.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

export const ROOT = fileURLToPath(new URL('../../..', import.meta.url));

export interface Block {
  /** `packages/core/README.md#2`: of the file's blocks of code, from 1. */
  readonly id: string;
  readonly file: string;
  readonly language: string;
  readonly text: string;
}

/** Languages that are run; `text` shows outputs and drawings. */
const SHOWN = ['text', ''];

export function codeBlocks(): Block[] {
  return markdownFiles().flatMap((file) => {
    const text = readFileSync(join(ROOT, file), 'utf8');
    return [...text.matchAll(/^```(\S*)\n([\s\S]*?)^```/gm)]
      .filter(([, language = '']) => !SHOWN.includes(language))
      .map(([, language = '', body = ''], i) => ({
        id: `${file}#${i + 1}`,
        file,
        language,
        text: body,
      }));
  });
}

/** READMEs and documents; results of benchmarks are no documents. */
function markdownFiles(): string[] {
  const inFolder = (folder: string) =>
    readdirSync(join(ROOT, folder), { withFileTypes: true })
      .filter((entry) => entry.isFile() && entry.name.endsWith('.md'))
      .map(({ name }) => join(folder, name));
  const folders = ['packages', 'apps', 'examples', 'tools'].flatMap((parent) =>
    readdirSync(join(ROOT, parent), { withFileTypes: true })
      .filter((entry) => entry.isDirectory())
      .flatMap(({ name }) => [join(parent, name), join(parent, name, 'docs')]),
  );
  return ['.', 'docs', 'deploy', ...folders]
    .flatMap((folder) => {
      try {
        return inFolder(folder);
      } catch {
        return [];
      }
    })
    .sort();
}
