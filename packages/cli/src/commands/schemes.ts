/**
 * `lowbit-kv schemes`: the presets and what they store.
 */
import { builtinSchemes } from '../schemes/builtin-schemes.js';
import {
  LISTED_GEOMETRY,
  type SchemeSummary,
  summarize,
  type TensorSummary,
} from '../schemes/scheme-summary.js';
import type { Terminal } from '../terminal.js';
import { textTable } from '../text-table.js';

export interface SchemesOptions {
  readonly json?: boolean;
}

export async function schemes(terminal: Terminal, options: SchemesOptions): Promise<undefined> {
  const summaries = (await builtinSchemes()).map((named) => summarize(named, LISTED_GEOMETRY));
  if (options.json === true) {
    const list = { reportVersion: 1, geometry: LISTED_GEOMETRY, schemes: summaries };
    terminal.print(JSON.stringify(list, null, 2));
    return;
  }
  const { bold, dim } = terminal.outColors;
  const lines = textTable(
    [
      { title: 'id' },
      { title: 'bits K/V', align: 'right' },
      { title: 'bits/element', align: 'right' },
      { title: 'paper', align: 'right' },
      { title: 'groups K/V' },
      { title: 'sinks', align: 'right' },
      { title: 'recent K/V', align: 'right' },
      { title: 'flush K/V', align: 'right' },
      { title: 'calibration' },
    ],
    summaries.map(row),
  );
  terminal.print(bold(lines[0] as string));
  for (const line of lines.slice(1)) terminal.print(line);
  terminal.print('');
  for (const { id, title, source } of summaries)
    terminal.print(`${id}: ${title} ${dim(`(${source})`)}`);
  for (const { id, refused } of summaries)
    if (refused !== null) terminal.print(`${id} has no layout here: ${refused}`);
  const { kvHeads, keyHeadDim } = LISTED_GEOMETRY;
  terminal.print('');
  terminal.print(
    dim(
      `bits/element: a full packed block at ${kvHeads} kv heads of ${keyHeadDim} channels, with parameters, padding and as many ` +
        'outliers as the scheme aims at.\npaper: without offsets and padding. ' +
        'Sinks, recent tokens and tokens that wait for a flush are f16 and not counted.',
    ),
  );
  return;
}

function row(summary: SchemeSummary): string[] {
  const { key, value } = summary;
  return [
    summary.id,
    both(key, value, ({ bits }) => String(bits)),
    summary.bitsPerElement === null ? 'refused' : summary.bitsPerElement.total.toFixed(3),
    ((key.paperBitsPerElement + value.paperBitsPerElement) / 2).toFixed(3),
    both(key, value, ({ groups }) => groups),
    String(summary.sinks),
    both(key, value, ({ window }) => String(window?.recent ?? '-')),
    both(key, value, ({ window }) => String(window?.flush ?? '-')),
    summary.calibration,
  ];
}

/** One text when keys and values agree, else both. */
function both(
  key: TensorSummary,
  value: TensorSummary,
  text: (tensor: TensorSummary) => string,
): string {
  const [first, second] = [text(key), text(value)];
  return first === second ? first : `${first} / ${second}`;
}
