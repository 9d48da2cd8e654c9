// Tables of Markdown files, read back.

export interface Table {
  readonly head: readonly string[];
  readonly rows: readonly (readonly string[])[];
}

/** The table whose head row begins with these cells. Throws where there is none, or more than one. */
export function tableIn(markdown: string, ...head: readonly string[]): Table {
  const found = [...markdown.matchAll(/^(\|.*\|)\n\|[ :|-]+\|\n((?:\|.*\|(?:\n|$))*)/gm)]
    .map(([, first = '', rest = '']) => ({
      head: cellsOf(first),
      rows: rest.trimEnd().split('\n').map(cellsOf),
    }))
    .filter((table) => head.every((cell, i) => table.head[i] === cell));
  const [table] = found;
  if (table === undefined || found.length > 1)
    throw new Error(`${found.length} tables begin with ${head.join(', ')}`);
  return table;
}

/** The row of a table by its first cell, without marks of emphasis. */
export function rowOf(table: Table, name: string): readonly string[] {
  const row = table.rows.find(([first]) => first === name);
  if (row === undefined) throw new Error(`no row ${name}`);
  return row.map((cell) => cell.replaceAll('**', ''));
}

function cellsOf(line: string): string[] {
  return line
    .slice(1, -1)
    .split(/(?<!\\)\|/)
    .map((cell) => cell.trim());
}
