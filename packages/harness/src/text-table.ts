/** Plain aligned tables, Markdown tables, and wrapped lines. */

export type TableStyle = 'text' | 'markdown';

/** Widest line of a text report. */
export const TEXT_COLUMNS = 120;

/** First row is the head; the first column is set left, the others right. Short rows end early. */
export function renderTable(rows: readonly (readonly string[])[], style: TableStyle): string[] {
  const columns = Math.max(...rows.map((row) => row.length));
  const widths = Array.from({ length: columns }, (_, column) =>
    Math.max(3, ...rows.map((row) => (row.length === columns ? (row[column]?.length ?? 0) : 0))),
  );
  const pad = (text: string, column: number) => {
    const width = widths[column] as number;
    return column === 0 ? text.padEnd(width) : text.padStart(width);
  };
  const lines = rows.map((row) => {
    const cells = row.map(pad);
    if (style === 'text') return cells.join('  ').trimEnd();
    while (cells.length < columns) cells.push('');
    return `| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`;
  });
  const rule = widths.map((width, column) =>
    style === 'text'
      ? '-'.repeat(width)
      : column === 0
        ? '-'.repeat(width)
        : `${'-'.repeat(width - 1)}:`,
  );
  const ruleLine = style === 'text' ? rule.join('  ') : `| ${rule.join(' | ')} |`;
  return [lines[0] as string, ruleLine, ...lines.slice(1)];
}

/** Breaks a line between words; continuation lines are indented. */
export function wrapLine(text: string, indent: number): string[] {
  const lines: string[] = [];
  let line = '';
  for (const word of text.split(' ')) {
    if (line.trim() !== '' && line.length + 1 + word.length > TEXT_COLUMNS) {
      lines.push(line.trimEnd());
      line = ' '.repeat(indent) + word;
    } else {
      line = line === '' && lines.length === 0 && word !== '' ? word : `${line} ${word}`;
    }
  }
  return [...lines, line.trimEnd()];
}
