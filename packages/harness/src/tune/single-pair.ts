/**
 * The one pair for all layers: what layers outside the capture are stored as.
 */
import type { LayerTable, TableContext } from './layer-table.js';
import type { Pair } from './tuned-scheme.js';

/**
 * Least sum of the errors of both tensors alone, within the budget; only what every layer can store and nothing calibrated,
 * because other layers have no calibration. The cheapest such pair when none is within the budget.
 */
export function bestSinglePair(
  { candidates, pairBits }: TableContext,
  tables: readonly LayerTable[],
  budgetBits: number,
): Pair {
  const usable = (tensor: 'key' | 'value') =>
    candidates[tensor].flatMap((candidate, place) => {
      const error = tables.reduce((sum, { alone }) => sum + (alone[tensor][place] as number), 0);
      return candidate.calibration === null && Number.isFinite(error) ? [{ candidate, error }] : [];
    });
  const keys = usable('key');
  const values = usable('value');
  const pairs = keys.flatMap((key) =>
    values.map((value) => ({
      pair: { key: key.candidate, value: value.candidate },
      bits: pairBits(key.candidate, value.candidate),
      error: key.error + value.error,
    })),
  );
  const fitting = pairs.filter(({ bits }) => bits <= budgetBits);
  const best =
    fitting.length > 0
      ? fitting.reduce((a, b) => (b.error < a.error ? b : a))
      : pairs.reduce((a, b) => (b.bits < a.bits ? b : a));
  return best.pair;
}
