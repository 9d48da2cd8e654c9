/**
 * How far a decoded element may lie from the original, from nothing but the width of the codes and the values of its group:
 * an upper bound for every group quantizer without transforms, outliers and codecs.
 */
import type { TensorPlan } from '../plan/plan.js';
import type { QuantizedTensorScheme } from '../scheme.js';

/** A scale below the smallest normal f16 is raised to it. */
const SMALLEST_SCALE = 2 ** -14;

/** The scheme of a tensor for which `errorBounds` holds, else null. */
export function boundedScheme({ scheme }: TensorPlan): QuantizedTensorScheme | null {
  if (scheme.bits === 16 || scheme.outliers !== undefined) return null;
  if ((scheme.transforms?.length ?? 0) > 0 || typeof scheme.quantizer.codes === 'object')
    return null;
  if (scheme.quantizer.mode === 'codec' || scheme.quantizer.codes === 'midRise') return null;
  return Object.values(scheme.parameters).every((type) => type === 'f16') ? scheme : null;
}

/** Number of the group of element `i` of a packed run `[tokens, heads, headDim]` that begins at a group edge. */
export function groupOf(plan: TensorPlan, scheme: QuantizedTensorScheme, i: number): number {
  const width = plan.heads * plan.headDim;
  const token = Math.floor(i / width);
  const { groups } = scheme;
  if (groups.along === 'tokens') return Math.floor(token / groups.size) * width + (i % width);
  if (groups.along === 'channels') return Math.floor(i / groups.size);
  if (groups.along === 'vector' && groups.scope === 'head') return Math.floor(i / plan.headDim);
  return token;
}

/** Largest allowed error of each element of a packed run that begins at a group edge. */
export function errorBounds(
  plan: TensorPlan,
  scheme: QuantizedTensorScheme,
  original: Float32Array,
): Float64Array {
  const ranges = new Map<number, { low: number; high: number }>();
  for (const [i, value] of original.entries()) {
    const group = groupOf(plan, scheme, i);
    const range = ranges.get(group);
    if (range === undefined) ranges.set(group, { low: value, high: value });
    else {
      range.low = Math.min(range.low, value);
      range.high = Math.max(range.high, value);
    }
  }
  return Float64Array.from(original, (_, i) => {
    const { low, high } = ranges.get(groupOf(plan, scheme, i)) as { low: number; high: number };
    return boundOf(scheme, low, high);
  });
}

function boundOf({ bits, quantizer }: QuantizedTensorScheme, low: number, high: number): number {
  const largest = Math.max(Math.abs(low), Math.abs(high));
  if (quantizer.mode === 'asymmetric') return stepBound((high - low) / (2 ** bits - 1), bits, 0.5);
  const symmetric =
    quantizer.codes === 'signmag'
      ? stepBound(largest / (2 ** (bits - 1) - 1), bits, 0.5)
      : // The value opposite to the most negative code is clipped by one step.
        stepBound(largest / 2 ** (bits - 1), bits, 1);
  if (quantizer.mode !== 'hybrid') return symmetric;
  const { asymmetricBits } = quantizer;
  return Math.max(
    symmetric,
    stepBound((high - low) / (2 ** asymmetricBits - 1), asymmetricBits, 0.5),
  );
}

/** `steps` steps, and what rounding the scale to f16 adds over all codes. */
function stepBound(step: number, bits: number, steps: number): number {
  if (step === 0) return 0;
  const scale = Math.max(step, SMALLEST_SCALE);
  return scale * (steps + 2 ** bits * 2 ** -11 + 2 ** -10);
}
