/** Plain aligned tables, Markdown tables, and wrapped lines. */

export type TableStyle = 'text' | 'markdown';

/** Widest line of a text report. */
export const TEXT_COLUMNS = 120;

const GAP = '  ';

/** First row is the head; the first column is set left, the others right. Short rows end early. */
export function renderTable(rows: readonly (readonly string[])[], style: TableStyle): string[] {
  return style === 'text' ? textTable(rows) : markdownTable(rows);
}

function textTable(rows: readonly (readonly string[])[]): string[] {
  const widths = columnWidths(rows);
  const rest = widths.slice(1).reduce((sum, width) => sum + GAP.length + width, 0);
  widths[0] = Math.max(8, Math.min(widths[0] as number, TEXT_COLUMNS - rest));
  const line = (row: readonly string[]) =>
    row
      .map((text, column) => {
        const width = widths[column] as number;
        return column === 0 ? shortened(text, width).padEnd(width) : text.padStart(width);
      })
      .join(GAP)
      .trimEnd();
  return [
    line(rows[0] as string[]),
    line(widths.map((width) => '-'.repeat(width))),
    ...rows.slice(1).map(line),
  ];
}

function markdownTable(rows: readonly (readonly string[])[]): string[] {
  const widths = columnWidths(rows);
  const line = (row: readonly string[]) => {
    const cells = widths.map((width, column) => {
      const text = (row[column] ?? '').replaceAll('|', '\\|');
      return column === 0 ? text.padEnd(width) : text.padStart(width);
    });
    return `| ${cells.join(' | ')} |`;
  };
  const rule = widths.map((width, column) =>
    column === 0 ? '-'.repeat(width) : `${'-'.repeat(width - 1)}:`,
  );
  return [line(rows[0] as string[]), `| ${rule.join(' | ')} |`, ...rows.slice(1).map(line)];
}

/** Short rows do not widen columns: their last cell may reach over the rest. */
function columnWidths(rows: readonly (readonly string[])[]): number[] {
  const columns = Math.max(...rows.map((row) => row.length));
  return Array.from({ length: columns }, (_, column) =>
    Math.max(
      3,
      ...rows
        .filter((row) => column === 0 || row.length === columns)
        .map((row) => row[column]?.length ?? 0),
    ),
  );
}

function shortened(text: string, width: number): string {
  return text.length <= width ? text : `${text.slice(0, width - 3)}...`;
}

/** Breaks a line between words; continuation lines are indented. */
export function wrapLine(text: string, indent: number): string[] {
  const [first, ...words] = text.split(' ');
  const lines: string[] = [];
  let line = first ?? '';
  for (const word of words) {
    if (line.length + 1 + word.length > TEXT_COLUMNS) {
      lines.push(line);
      line = ' '.repeat(indent) + word;
    } else line = `${line} ${word}`;
  }
  return [...lines, line];
}
