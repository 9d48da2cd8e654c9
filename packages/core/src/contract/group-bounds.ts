/**
 * How far a decoded element may lie from the original, from nothing but the code set, the type of the scale and the values
 * of its group: an upper bound for every group quantizer without transforms, outlier bands and codecs.
 */
import type { TensorPlan } from '../plan/plan.js';
import type { ParameterType, QuantizedTensorScheme } from '../scheme.js';

/** The scheme of a tensor for which `errorBounds` holds, else null. */
export function boundedScheme({ scheme }: TensorPlan): QuantizedTensorScheme | null {
  if (scheme.bits === 16 || scheme.outliers?.kind === 'bands') return null;
  if ((scheme.transforms?.length ?? 0) > 0) return null;
  return scheme.quantizer.mode === 'codec' ? null : scheme;
}

/** Largest allowed error of each element of a packed run that begins at a group edge. */
export function errorBounds(
  plan: TensorPlan,
  scheme: QuantizedTensorScheme,
  original: Float32Array,
): Float64Array {
  const outliers = topElements(plan, scheme, original);
  const groups = new Map<number, GroupValues>();
  for (let i = 0; i < original.length; i++) {
    if (outliers.has(i)) continue;
    const value = original[i] as number;
    const number = groupOf(plan, scheme, i);
    let group = groups.get(number);
    if (group === undefined) {
      group = { low: value, high: value, squares: 0, count: 0 };
      groups.set(number, group);
    }
    group.low = Math.min(group.low, value);
    group.high = Math.max(group.high, value);
    group.squares += value * value;
    group.count++;
  }
  const bounds = new Map([...groups].map(([number, group]) => [number, boundOf(scheme, group)]));
  return Float64Array.from(original, (value, i) =>
    // f16 holds f16.
    outliers.has(i) ? 0 : (bounds.get(groupOf(plan, scheme, i)) as Bound)(value),
  );
}

/** Number of the group of element `i` of a packed run `[tokens, heads, headDim]` that begins at a group edge. */
function groupOf(plan: TensorPlan, { groups }: QuantizedTensorScheme, i: number): number {
  const width = plan.heads * plan.headDim;
  const token = Math.floor(i / width);
  if (groups.along === 'tokens') return Math.floor(token / groups.size) * width + (i % width);
  if (groups.along === 'channels') return Math.floor(i / groups.size);
  if (groups.along === 'vector' && groups.scope === 'head') return Math.floor(i / plan.headDim);
  return token;
}

/** Elements that are top outliers. */
function topElements(
  { headDim }: TensorPlan,
  { outliers }: QuantizedTensorScheme,
  original: Float32Array,
): ReadonlySet<number> {
  const found = new Set<number>();
  if (outliers?.kind !== 'top') return found;
  for (let first = 0; first < original.length; first += headDim) {
    const token = Array.from({ length: headDim }, (_, channel) => first + channel);
    const magnitude = (i: number) => Math.abs(original[i] as number);
    token.sort((a, b) => magnitude(b) - magnitude(a) || a - b);
    for (const i of token.slice(0, outliers.count)) found.add(i);
  }
  return found;
}

/** Relative error of the few roundings of f32 arithmetic. */
const ROUNDINGS = 2 ** -20;

interface GroupValues {
  low: number;
  high: number;
  squares: number;
  count: number;
}

/** The bound of each value of a group. */
type Bound = (value: number) => number;

function boundOf(
  { bits, quantizer, parameters }: QuantizedTensorScheme,
  group: GroupValues,
): Bound {
  const { low, high } = group;
  const type = parameters.scale ?? null;
  const largest = Math.max(Math.abs(low), Math.abs(high));
  const { mode, codes } = quantizer;
  const half = 2 ** (bits - 1);
  const offset = (levels: readonly number[]): Bound => {
    const bound = levelBound(levels, scaleRange(type, (high - low) / (levels.at(-1) as number)));
    return (value) => bound(value - low) + largest * ROUNDINGS;
  };
  if (typeof codes === 'object') {
    const levels = codes.levels as readonly number[];
    if (mode === 'asymmetric') return offset(levels);
    const root = Math.sqrt(group.squares / group.count);
    const ideal =
      codes.scaledBy === 'rootMeanSquare' ? root : largest / Math.max(...levels.map(Math.abs));
    return levelBound(levels, scaleRange(type, ideal));
  }
  if (mode === 'asymmetric') return offset(integers(0, 2 ** bits - 1));
  const top = codes === 'signmag' ? half - 1 : half;
  // The scale of `fullSigned` has either sign: what is opposite to the most negative code is clipped.
  const symmetric = levelBound(integers(1 - half, half - 1), scaleRange(type, largest / top));
  if (mode !== 'hybrid') return symmetric;
  const asymmetric = offset(integers(0, 2 ** quantizer.asymmetricBits - 1));
  return (value) => Math.max(symmetric(value), asymmetric(value));
}

function integers(first: number, last: number): number[] {
  return Array.from({ length: last - first + 1 }, (_, i) => first + i);
}

/** Smallest and largest scale that may be stored for an ideal one. */
interface ScaleRange {
  readonly least: number;
  readonly most: number;
}

const EXACT: ScaleRange = { least: 1, most: 1 };

/** Relative error, what numbers near 0 are apart, smallest and largest number of a type of scale. */
const ROUNDING: Readonly<Record<ParameterType, readonly [number, number, number, number]>> = {
  f16: [2 ** -11, 2 ** -25, 2 ** -14, 65504],
  f32: [2 ** -22, 0, 2 ** -126, Number.POSITIVE_INFINITY],
  e4m3: [2 ** -4, 2 ** -10, 2 ** -9, 448],
  // The ratio of two numbers and that of their powers of two differ by less than a factor of two.
  e8m0: [1, 0, 2 ** -126, 2 ** 127],
};

function scaleRange(type: ParameterType | null, ideal: number): ScaleRange {
  if (type === null) return EXACT;
  if (ideal === 0) return { least: 0, most: 0 };
  const [relative, absolute, smallest, largest] = ROUNDING[type];
  const error = Math.max(ideal * relative, absolute) + ideal * ROUNDINGS;
  const least = type === 'e8m0' ? ideal / 2 : ideal - error;
  return {
    least: Math.min(Math.max(least, 0), largest),
    most: Math.max(ideal + error, smallest),
  };
}

/** Half of the widest cell between levels that a value can fall into, and what lies beyond the ends. */
function levelBound(levels: readonly number[], { least, most }: ScaleRange): Bound {
  const [lowest, highest] = [levels[0] as number, levels.at(-1) as number];
  const bottom = Math.max(lowest * least, lowest * most);
  const top = Math.min(highest * least, highest * most);
  return (value) => {
    // 0 / 0 is where it was.
    const near = most === 0 ? 0 : value / most;
    const far = most === 0 || value === 0 ? 0 : value / least;
    const [from, to] = [Math.min(near, far), Math.max(near, far)];
    let widest = 0;
    for (let i = Math.max(firstFrom(levels, from), 1); i < levels.length; i++) {
      const below = levels[i - 1] as number;
      if (below > to) break;
      widest = Math.max(widest, (levels[i] as number) - below);
    }
    const clipped = Math.max(value - top, bottom - value, 0);
    return Math.max((widest / 2) * most, clipped) + Math.abs(value) * ROUNDINGS;
  };
}

/** Index of the first of these ascending levels that is not below a place; their number when all are. */
function firstFrom(levels: readonly number[], place: number): number {
  let [low, high] = [0, levels.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((levels[middle] as number) < place) low = middle + 1;
    else high = middle;
  }
  return low;
}
