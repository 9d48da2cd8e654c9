/**
 * "Did you mean": the known name nearest to a misspelt one.
 */

/** `Did you mean "x"?` for the nearest name within a third of the length in edits, else undefined. */
export function suggestion(name: unknown, known: readonly unknown[]): string | undefined {
  if (typeof name !== 'string') return undefined;
  let best: string | undefined;
  let least = Math.max(1, Math.floor(name.length / 3)) + 1;
  for (const candidate of known) {
    if (typeof candidate !== 'string') continue;
    const edits = editDistance(name.toLowerCase(), candidate.toLowerCase());
    if (edits < least) {
      least = edits;
      best = candidate;
    }
  }
  return best === undefined ? undefined : `Did you mean ${JSON.stringify(best)}?`;
}

/** Insertions, deletions, replacements and swaps of neighbours; long texts count as far apart. */
function editDistance(a: string, b: string): number {
  if (a.length > 64 || b.length > 64) return a === b ? 0 : 64;
  let beforePrevious: number[] = [];
  let previous = Array.from({ length: b.length + 1 }, (_, j) => j);
  for (let i = 1; i <= a.length; i++) {
    const row = [i];
    for (let j = 1; j <= b.length; j++) {
      const replaced = (previous[j - 1] as number) + (a[i - 1] === b[j - 1] ? 0 : 1);
      let least = Math.min(replaced, (previous[j] as number) + 1, (row[j - 1] as number) + 1);
      if (a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1])
        least = Math.min(least, (beforePrevious[j - 2] ?? least) + 1);
      row.push(least);
    }
    beforePrevious = previous;
    previous = row;
  }
  return previous[b.length] as number;
}
