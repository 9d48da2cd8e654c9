/**
 * What every simulation checks of a forward call.
 */
import { LowbitKvError } from './errors.js';
import type { SimulationShape } from './simulation.js';

/** Tokens of a forward call, at least one. Throws TENSOR_INVALID for sizes that do not agree. */
export function tokensOfForward(
  shape: SimulationShape,
  key: Uint16Array,
  value: Uint16Array,
): number {
  const { layer, kvHeads, keyHeadDim, valueHeadDim } = shape;
  const tokens = key.length / (kvHeads * keyHeadDim);
  if (Number.isInteger(tokens) && tokens > 0 && value.length === tokens * kvHeads * valueHeadDim)
    return tokens;
  throw new LowbitKvError('TENSOR_INVALID', {
    message: 'the keys and values of a forward call are not the same tokens',
    value: { key: key.length, value: value.length },
    valid: `[tokens, ${kvHeads}, ${keyHeadDim}] keys and [tokens, ${kvHeads}, ${valueHeadDim}] values`,
    next: 'Pass whole tokens, at least one, of all kv heads.',
    where: { layer },
  });
}
