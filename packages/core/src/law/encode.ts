/**
 * Encodes f16 tokens into a packed page: the law's side of the pack job.
 */
import type { BlockLayout } from '../plan/layout.js';
import type { TensorPlan } from '../plan/plan.js';
import type { QuantizedTensorScheme } from '../scheme.js';
import { encodeWithCodec } from './codec.js';
import { encodeBands } from './encode-bands.js';
import { encodeGroups } from './encode-groups.js';
import { Transforms } from './transforms.js';

/** A tensor plan that is packed. */
export interface PackedTensorPlan extends TensorPlan {
  readonly scheme: QuantizedTensorScheme;
  readonly layout: BlockLayout;
}

/**
 * Writes `count` tokens into slots `slot ...` of `page`. `tokens` holds f16 bits `[count, heads, headDim]`,
 * `statistics` the statistics page of the sequence. Slots before `slot` are not touched. Throws OUTLIER_CAPACITY, and CODEC_* for a codec that fails.
 */
export function encodeTokens(
  plan: PackedTensorPlan,
  tokens: Uint16Array,
  count: number,
  statistics: Uint16Array | null,
  page: Uint8Array,
  slot: number,
): void {
  const transforms = Transforms.of(plan, statistics);
  if (plan.scheme.outliers?.kind === 'bands')
    encodeBands(plan, tokens, count, transforms, page, slot);
  else if (plan.scheme.quantizer.mode === 'codec')
    encodeWithCodec(plan, tokens, count, transforms, page, slot);
  else encodeGroups(plan, tokens, count, transforms, page, slot);
}
