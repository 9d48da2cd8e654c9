/**
 * Weighted k-means of numbers, solved exactly: on a line the clusters are intervals, so dynamic programming finds the best
 * ones. It needs no start and always gives the same levels.
 */

export interface WeightedPoints {
  /** Rising. */
  readonly positions: Float64Array;
  /** Above 0. */
  readonly weights: Float64Array;
}

/**
 * Levels that minimise the weighted squared distance of the points to the nearest of them; as many as points where there
 * are fewer of these. With `ends` the first and last level are fixed.
 */
export function fitLevels(
  points: WeightedPoints,
  count: number,
  ends?: readonly [number, number],
): number[] {
  const { positions } = points;
  const total = positions.length;
  const clusters = Math.min(count - (ends === undefined ? 0 : 2), total);
  const { meanOf, costAround, cost } = intervals(points);

  // least[b]: least cost of the first b points in the clusters so far; nothing is needed to cover none.
  let least = new Float64Array(total + 1).fill(Number.POSITIVE_INFINITY);
  least[0] = 0;
  if (ends !== undefined) least = least.map((_, b) => costAround(ends[0], 0, b));
  const firsts: Int32Array[] = [];
  for (let cluster = 1; cluster <= clusters; cluster++) {
    const next = new Float64Array(total + 1).fill(Number.POSITIVE_INFINITY);
    const first = new Int32Array(total + 1);
    const before = least;
    // The best start of a cluster does not move left when its end moves right, so halves can be searched apart.
    const search = (low: number, high: number, from: number, to: number): void => {
      if (low > high) return;
      const b = (low + high) >> 1;
      let best = from;
      for (let a = from; a <= Math.min(to, b - 1); a++) {
        const sum = (before[a] as number) + cost(a, b);
        if (sum < (next[b] as number)) {
          next[b] = sum;
          best = a;
        }
      }
      first[b] = best;
      search(low, b - 1, from, best);
      search(b + 1, high, best, to);
    };
    search(cluster, total, cluster - 1, total - 1);
    firsts.push(first);
    least = next;
  }

  let end = total;
  if (ends !== undefined) {
    const sums = least.map((sum, b) => sum + costAround(ends[1], b, total));
    end = sums.indexOf(Math.min(...sums));
  }
  const levels: number[] = ends === undefined ? [] : [ends[1]];
  for (const first of firsts.reverse()) {
    const start = first[end] as number;
    levels.push(meanOf(start, end));
    end = start;
  }
  if (ends !== undefined) levels.push(ends[0]);
  return levels.reverse();
}

/** Means and costs of the points `[a, b)`. */
function intervals({ positions, weights }: WeightedPoints) {
  const length = positions.length + 1;
  const [mass, moment, square] = [0, 1, 2].map(() => new Float64Array(length)) as [
    Float64Array,
    Float64Array,
    Float64Array,
  ];
  for (const [i, x] of positions.entries()) {
    const weight = weights[i] as number;
    mass[i + 1] = (mass[i] as number) + weight;
    moment[i + 1] = (moment[i] as number) + weight * x;
    square[i + 1] = (square[i] as number) + weight * x * x;
  }
  const between = (sums: Float64Array, a: number, b: number) =>
    (sums[b] as number) - (sums[a] as number);
  return {
    meanOf: (a: number, b: number) => between(moment, a, b) / between(mass, a, b),
    costAround: (center: number, a: number, b: number) =>
      between(square, a, b) -
      2 * center * between(moment, a, b) +
      center * center * between(mass, a, b),
    cost: (a: number, b: number) =>
      between(square, a, b) - between(moment, a, b) ** 2 / between(mass, a, b),
  };
}
