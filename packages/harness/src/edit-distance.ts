/**
 * "Did you mean": the name nearest to a mistyped one.
 */

/** Insertions, deletions, replacements and swaps of neighbours that turn `a` into `b`. */
export function editDistance(a: string, b: string): number {
  let beforeLast: number[] = [];
  let last = Array.from({ length: b.length + 1 }, (_, j) => j);
  for (let i = 1; i <= a.length; i++) {
    const row = [i];
    for (let j = 1; j <= b.length; j++) {
      const same = a[i - 1] === b[j - 1] ? 0 : 1;
      let best = Math.min(row[j - 1]! + 1, last[j]! + 1, last[j - 1]! + same);
      if (i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1])
        best = Math.min(best, beforeLast[j - 2]! + 1);
      row.push(best);
    }
    beforeLast = last;
    last = row;
  }
  return last[b.length]!;
}

/** The nearest of `names`, or undefined when none is near: at most four in ten letters differ. */
export function nearest(name: string, names: readonly string[]): string | undefined {
  const ranked = names
    // Letters more or less are edits too; names from outside may be of any length.
    .filter((candidate) => isNear(Math.abs(name.length - candidate.length), name, candidate))
    .map((candidate) => ({ candidate, distance: editDistance(name, candidate) }))
    .sort((a, b) => a.distance - b.distance);
  const best = ranked[0];
  if (best === undefined) return undefined;
  return isNear(best.distance, name, best.candidate) ? best.candidate : undefined;
}

function isNear(edits: number, a: string, b: string): boolean {
  return edits <= 0.4 * Math.max(a.length, b.length);
}
