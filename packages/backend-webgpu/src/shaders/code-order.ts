/**
 * In which order a page keeps its codes: canonical, or as the integer attention reduces over them (code-places-reduction.wgsl).
 */
import type { LayerPlan, TensorPlan } from '@lowbit-kv/core';

export type CodeOrder = 'canonical' | 'reduction';

/** Tokens of a page and channels of a head that the integer attention is written for. */
const PAGE_TOKENS = 128;
const HEAD_DIM = 128;
const GROUP_SIZES = [32, 64, 128];

/** Both tensors of a layer have the same order: one kernel reads them. */
export function codeOrder({ key, value }: LayerPlan): CodeOrder {
  return isReducible(key) && isReducible(value) ? 'reduction' : 'canonical';
}

/** Whether code words hold neighbour slots of one channel; otherwise they hold neighbour channels of one slot. */
export function wordsHoldSlots({ tensor, layout }: TensorPlan, order: CodeOrder): boolean {
  return order === 'reduction' ? tensor === 'value' : layout?.codes.rows === 'channels';
}

function isReducible({ scheme, layout, headDim }: TensorPlan): boolean {
  if (layout === null || scheme.bits === 16 || headDim !== HEAD_DIM) return false;
  if (layout.blockTokens !== PAGE_TOKENS || ![2, 4, 8].includes(layout.bits)) return false;
  if (scheme.outliers !== undefined || scheme.stage === 'pre-rope') return false;
  if (Object.values(scheme.parameters).some((type) => type !== 'f16')) return false;
  const { mode, codes } = scheme.quantizer;
  const linear = mode === 'asymmetric' ? codes === 'uniform' : mode === 'symmetric';
  if (!linear || typeof codes === 'object') return false;
  const size = layout.codes.rows === 'channels' ? layout.tokensPerGroup : layout.channelsPerGroup;
  return GROUP_SIZES.includes(size);
}

/** value = (slope * signed + offset) * scale + zero, where `signed` is the code with these bits flipped. */
export function linearCodes({ scheme }: TensorPlan): {
  readonly flip: number;
  readonly slope: number;
  readonly offset: number;
} {
  if (scheme.bits === 16) throw new TypeError('an f16 tensor has no codes');
  if (scheme.quantizer.mode === 'symmetric') return { flip: 0, slope: 1, offset: 0 };
  const half = 2 ** (scheme.bits - 1);
  return { flip: half, slope: 1, offset: half };
}
