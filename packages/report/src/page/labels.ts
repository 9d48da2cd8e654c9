/** Labels beside the ends of lines, moved apart where they would cover each other. */

export interface EndLabel {
  readonly text: string;
  /** Pixels from the top. */
  readonly at: number;
}

/** From the top down; each at least `gap` below the one above it. */
export function spreadLabels(labels: readonly EndLabel[], gap: number): EndLabel[] {
  let next = Number.NEGATIVE_INFINITY;
  return labels
    .toSorted((a, b) => a.at - b.at)
    .map(({ text, at }) => {
      const moved = Math.max(at, next);
      next = moved + gap;
      return { text, at: moved };
    });
}
