/**
 * Spending a budget of bits over layers: one choice per layer, least mean error, mean bits within the budget.
 */

/** One way to store a layer. */
export interface LayerChoice {
  /** Places among the key and value candidates. */
  readonly key: number;
  readonly value: number;
  /** Bits per element of the layer, keys and values together. */
  readonly bits: number;
  readonly error: number;
}

export interface Allocation {
  /** One per layer. */
  readonly choices: readonly LayerChoice[];
  /** Mean over layers. */
  readonly bits: number;
  /** Mean over layers. */
  readonly error: number;
}

/** Sums of bits come in other orders than the budget was written down in. */
const ROUNDING = 1e-9;

/** The fewest mean bits that any choice gives. */
export function lowestBits(layers: readonly (readonly LayerChoice[])[]): number {
  return mean(layers.map((choices) => Math.min(...choices.map(({ bits }) => bits))));
}

interface Partial {
  readonly bits: number;
  readonly error: number;
  readonly choice: LayerChoice;
  readonly before: Partial | null;
}

/**
 * The best allocation, proved: dynamic programming over layers that keeps every sum of bits whose error no smaller sum
 * reaches. Bits are not discretised. Null when the budget is below `lowestBits`. Errors are finite and at least 0.
 */
export function allocateExactly(
  layers: readonly (readonly LayerChoice[])[],
  budget: number,
): Allocation | null {
  const total = budget * layers.length + ROUNDING;
  const efficient = layers.map(unbeaten);
  // Bits that the layers after each one cost at least.
  const rest = efficient.map((_, i) =>
    efficient.slice(i + 1).reduce((sum, [cheapest]) => sum + (cheapest?.bits ?? 0), 0),
  );
  let states: Partial[] = [];
  for (const [i, choices] of efficient.entries()) {
    const limit = total - (rest[i] as number);
    const before: readonly (Partial | null)[] = i === 0 ? [null] : states;
    const reached: Partial[] = [];
    for (const state of before) {
      for (const choice of choices) {
        const bits = (state?.bits ?? 0) + choice.bits;
        if (bits > limit) break;
        reached.push({ bits, error: (state?.error ?? 0) + choice.error, choice, before: state });
      }
    }
    states = unbeaten(reached);
  }
  const best = states.at(-1);
  return best === undefined ? null : allocationOf(path(best));
}

/**
 * The usual shortcut: from the cheapest choices, takes the steps along each layer's lower convex hull that save most
 * error per bit, as long as they fit. Null when the budget is below `lowestBits`, or a layer has no choice.
 */
export function allocateGreedily(
  layers: readonly (readonly LayerChoice[])[],
  budget: number,
): Allocation | null {
  if (layers.some((choices) => choices.length === 0)) return null;
  const hulls = layers.map((choices) => lowerHull(unbeaten(choices)));
  const chosen = hulls.map((hull) => hull[0] as LayerChoice);
  let left = budget * layers.length + ROUNDING - chosen.reduce((sum, { bits }) => sum + bits, 0);
  if (left < 0) return null;
  const steps = hulls.flatMap((hull, layer) =>
    hull.slice(1).map((to, i) => {
      const from = hull[i] as LayerChoice;
      return { layer, from, to, gain: (from.error - to.error) / (to.bits - from.bits) };
    }),
  );
  // Gains fall along a hull, so the steps of a layer stay in order.
  steps.sort((a, b) => b.gain - a.gain);
  for (const { layer, from, to } of steps) {
    if (chosen[layer] !== from || to.bits - from.bits > left) continue;
    chosen[layer] = to;
    left -= to.bits - from.bits;
  }
  return allocationOf(chosen);
}

/** Those that no other has at most the bits of with at most its error: bits rise and errors fall strictly. */
function unbeaten<T extends { readonly bits: number; readonly error: number }>(
  choices: readonly T[],
): T[] {
  const kept: T[] = [];
  for (const choice of choices.toSorted((a, b) => a.bits - b.bits || a.error - b.error)) {
    if (choice.error < (kept.at(-1)?.error ?? Number.POSITIVE_INFINITY)) kept.push(choice);
  }
  return kept;
}

/** The corners below which no mixture of two choices lies. */
function lowerHull(choices: readonly LayerChoice[]): LayerChoice[] {
  const hull: LayerChoice[] = [];
  for (const choice of choices) {
    while (hull.length > 1) {
      const [a, b] = hull.slice(-2) as [LayerChoice, LayerChoice];
      const above =
        (b.error - a.error) * (choice.bits - a.bits) >=
        (choice.error - a.error) * (b.bits - a.bits);
      if (!above) break;
      hull.pop();
    }
    hull.push(choice);
  }
  return hull;
}

function path(last: Partial): LayerChoice[] {
  const choices: LayerChoice[] = [];
  for (let state: Partial | null = last; state !== null; state = state.before)
    choices.unshift(state.choice);
  return choices;
}

function allocationOf(choices: readonly LayerChoice[]): Allocation {
  return {
    choices,
    bits: mean(choices.map(({ bits }) => bits)),
    error: mean(choices.map(({ error }) => error)),
  };
}

function mean(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}
