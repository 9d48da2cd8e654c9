/**
 * The worked example of the snapshot container in docs/block-format.md: the golden snapshot, taken apart.
 */
import { readFileSync } from 'node:fs';
import { type TensorPlan, WINDOW_PAGE_TOKENS } from '../src/index.js';
import { markdownTable } from './generated-parts.js';
import { snapshotPlan } from './golden-snapshot.js';

interface Header {
  readonly pages: readonly {
    readonly packed: readonly number[];
    readonly window: number;
    readonly statistics: number;
  }[];
  readonly sequences: readonly unknown[];
}

export function snapshotParts(): Map<string, string> {
  const bytes = readFileSync(new URL('../test/golden/snapshot.bin', import.meta.url));
  const headerBytes = bytes.readUInt32LE(8);
  const header = JSON.parse(bytes.toString('utf8', 12, 12 + headerBytes)) as Header;
  const rows: (string | number)[][] = [
    [0, 4, `\`${bytes.toString('latin1', 0, 4)}\``],
    [4, 4, `version ${bytes.readUInt32LE(4)}`],
    [8, 4, `header length ${headerBytes}`],
    [12, headerBytes, 'header'],
  ];
  let at = 12 + headerBytes;
  const add = (content: string, count: number, size: number) => {
    if (count === 0) return;
    rows.push([at, count * size, `${content}: ${count} x ${size}`]);
    at += count * size;
  };
  for (const { layer, key, value } of snapshotPlan().layers) {
    for (const tensor of [key, value] satisfies TensorPlan[]) {
      const pages = header.pages[tensor.class];
      if (pages === undefined) throw new Error(`the golden snapshot lacks class ${tensor.class}`);
      const owner = `layer ${layer} ${tensor.tensor}s (class ${tensor.class})`;
      add(`${owner}, packed pages`, pages.packed.length, tensor.layout?.pageBytes ?? 0);
      add(
        `${owner}, window pages`,
        pages.window,
        tensor.heads * WINDOW_PAGE_TOKENS * tensor.headDim * 2,
      );
      add(`${owner}, statistics pages`, pages.statistics, tensor.heads * tensor.headDim * 2);
    }
  }
  rows.push([at, bytes.length - at, 'SHA-256']);
  const shortened = JSON.stringify({ ...header, sequences: header.sequences.slice(0, 1) }, null, 2)
    // Objects of numbers and names on one line each.
    .replace(/\{[^{}]*\}/g, (inner) => inner.replace(/\s+/g, ' '))
    .replace(/\[[\s\d,]*\]/g, (inner) =>
      inner.replace(/\s+/g, ' ').replace('[ ', '[').replace(' ]', ']'),
    );
  return new Map([
    ['snapshot-container', markdownTable(['offset', 'bytes', 'content'], rows)],
    ['snapshot-header', `\`\`\`json\n${shortened}\n\`\`\``],
  ]);
}
