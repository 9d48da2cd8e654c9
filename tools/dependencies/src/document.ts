/**
 * THIRD_PARTY.md.
 */
import { join } from 'node:path';
import { type InstalledPackage, ROOT } from './installed.js';

export const DOCUMENT_PATH = join(ROOT, 'THIRD_PARTY.md');

/** Licences that the packages may bring to users. */
export const ACCEPTED = [
  '(Apache-2.0 AND BSD-3-Clause)',
  '(MIT OR CC0-1.0)',
  'Apache-2.0',
  'BSD-2-Clause',
  'BSD-3-Clause',
  'ISC',
  'MIT',
  'Unlicense',
];

export function thirdPartyDocument(packages: readonly InstalledPackage[]): string {
  const rows = packages.map(({ name, version, licence, repository, usedBy }) => {
    const users = usedBy.map((user) => user.replace('@lowbit-kv/', '')).join(', ');
    const link = repository === '' ? name : `[${name}](${repository})`;
    return `| ${link} | ${version} | ${licence} | ${users} |`;
  });
  return `# Third-party packages

What is installed with the packages of this repository, as its lock file has it: dependencies and peers, and what they depend on.
Written by \`pnpm docs:generate\`; a test compares it with what is installed, and refuses licences that are not in a list
(\`tools/dependencies/src/document.ts\`). Builds of native packages for a platform carry the licence of the package. Sizes and reasons:
[docs/dependencies.md](docs/dependencies.md).

| package | version | licence | named by |
| --- | --- | --- | --- |
${rows.join('\n')}
`;
}
