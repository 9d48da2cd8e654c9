/** Where texts of charts go, so that none covers another. */

export interface EndLabel {
  readonly text: string;
  /** Pixels from the top. */
  readonly at: number;
}

/** Labels beside the ends of lines. From the top down; each at least `gap` below the one above it. */
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

export interface Box {
  readonly left: number;
  readonly top: number;
  readonly right: number;
  readonly bottom: number;
}

/** A label of this size, in pixels, that belongs to a point. */
export interface PointLabel {
  readonly x: number;
  readonly y: number;
  readonly width: number;
  readonly height: number;
}

/** From a point to the middle of its label, as shares of the way that its sizes make. */
const DIRECTIONS = [
  ...[
    [1, -1],
    [1, 0],
    [-1, -1],
    [-1, 0],
    [1, 1],
    [-1, 1],
    [0, -1],
    [0, 1],
  ],
] as const;

/**
 * The box of each label, beside its point, in the order given; null where it would cover a point or a label before it. Points
 * have a radius.
 */
export function placeLabels(
  labels: readonly PointLabel[],
  { bounds, radius }: { readonly bounds: Box; readonly radius: number },
): (Box | null)[] {
  const taken: Box[] = labels.map(({ x, y }) => ({
    left: x - radius,
    right: x + radius,
    top: y - radius,
    bottom: y + radius,
  }));
  return labels.map(({ x, y, width, height }) => {
    const boxes = DIRECTIONS.map(([right, down]) => {
      const middle = {
        x: x + right * (width / 2 + radius + (down === 0 ? 1 : 0)),
        y: y + down * (height / 2 + (right === 0 ? radius + 1 : radius / 2)),
      };
      return {
        left: middle.x - width / 2,
        right: middle.x + width / 2,
        top: middle.y - height / 2,
        bottom: middle.y + height / 2,
      };
    });
    const free = boxes.find(
      (box) => within(box, bounds) && !taken.some((other) => overlaps(box, other)),
    );
    if (free !== undefined) taken.push(free);
    return free ?? null;
  });
}

function within(box: Box, bounds: Box): boolean {
  return (
    box.left >= bounds.left &&
    box.right <= bounds.right &&
    box.top >= bounds.top &&
    box.bottom <= bounds.bottom
  );
}

function overlaps(a: Box, b: Box): boolean {
  return a.left < b.right && b.left < a.right && a.top < b.bottom && b.top < a.bottom;
}
