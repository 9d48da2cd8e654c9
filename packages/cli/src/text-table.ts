/**
 * Columns of text, padded with spaces.
 */

export interface Column {
  readonly title: string;
  readonly align?: 'right';
}

/** Lines of a table; the first is the header. Trailing spaces are left out. */
export function textTable(columns: readonly Column[], rows: readonly (readonly string[])[]) {
  const widths = columns.map(({ title }, i) =>
    Math.max(title.length, ...rows.map((row) => (row[i] ?? '').length)),
  );
  const format = (cells: readonly string[]): string =>
    columns
      .map(({ align }, i) => {
        const cell = cells[i] ?? '';
        return align === 'right' ? cell.padStart(widths[i]!) : cell.padEnd(widths[i]!);
      })
      .join('  ')
      .trimEnd();
  return [format(columns.map(({ title }) => title)), ...rows.map(format)];
}
