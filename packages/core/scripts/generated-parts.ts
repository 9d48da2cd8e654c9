/**
 * Documents with generated parts: text between `<!-- generated: NAME -->` and `<!-- /generated -->`.
 */

const PART = /(<!-- generated: ([a-z0-9-]+) -->\n)([\s\S]*?)(<!-- \/generated -->)/g;

/** Replaces every generated part. Throws when the document and `parts` do not have the same names. */
export function fillParts(text: string, parts: ReadonlyMap<string, string>): string {
  const used = new Set<string>();
  const filled = text.replace(PART, (_all, open: string, name: string, _old: string, close) => {
    const part = parts.get(name);
    if (part === undefined) throw new Error(`nothing generates the part ${name}`);
    if (used.has(name)) throw new Error(`the part ${name} appears twice`);
    used.add(name);
    return `${open}${part.trimEnd()}\n${close}`;
  });
  const missing = [...parts.keys()].filter((name) => !used.has(name));
  if (missing.length > 0) throw new Error(`the document lacks the parts ${missing.join(', ')}`);
  return filled;
}

/** A Markdown table, its columns aligned as the formatter wants them. */
export function markdownTable(
  head: readonly string[],
  rows: readonly (readonly (string | number)[])[],
): string {
  const cells = [head, ...rows].map((row) => row.map(String));
  const widths = head.map((_, i) => Math.max(3, ...cells.map((row) => (row[i] ?? '').length)));
  const line = (row: readonly string[]) =>
    `| ${widths.map((width, i) => (row[i] ?? '').padEnd(width)).join(' | ')} |`;
  const rule = line(widths.map((width) => '-'.repeat(width)));
  const [first = [], ...rest] = cells;
  return [line(first), rule, ...rest.map(line)].join('\n');
}

export function hex(value: number, digits: number): string {
  return `0x${value.toString(16).padStart(digits, '0')}`;
}

/** Bytes as `a0 b1 ...`. */
export function hexBytes(bytes: Uint8Array): string {
  return [...bytes].map((byte) => byte.toString(16).padStart(2, '0')).join(' ');
}
