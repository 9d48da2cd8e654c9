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

/** Whether code words go down slots: they hold neighbour slots of one channel, or four of the reduction that are slots. */
export function wordsHoldSlots({ tensor, layout }: TensorPlan, order: CodeOrder): boolean {
  return order === 'reduction' ? tensor === 'value' : layout?.codes.rows === 'channels';
}

function isReducible(plan: TensorPlan): boolean {
  const { scheme, layout, headDim } = plan;
  if (layout === null || scheme.bits === 16 || headDim !== HEAD_DIM) return false;
  if (layout.blockTokens !== PAGE_TOKENS || ![2, 3, 4, 8].includes(layout.bits)) return false;
  if (scheme.stage === 'pre-rope' || (scheme.outliers !== undefined && !hasLines(plan)))
    return false;
  if (Object.values(scheme.parameters).some((type) => type !== 'f16')) return false;
  const { mode, codes } = scheme.quantizer;
  const linear = mode === 'asymmetric' ? codes === 'uniform' : mode === 'symmetric';
  if (!linear || typeof codes === 'object') return false;
  const size = layout.codes.rows === 'channels' ? layout.tokensPerGroup : layout.channelsPerGroup;
  return GROUP_SIZES.includes(size);
}

/** Whether pages in the order of the reduction keep outliers by lines, see outlier-lines.ts. */
export function hasLines({ scheme, layout }: TensorPlan): boolean {
  if (scheme.bits !== 4 || scheme.outliers?.kind !== 'bands' || layout === null) return false;
  return scheme.quantizer.codes === 'midRise' && layout.sparse?.endOffsets.entryBytes === 2;
}

/** A byte holds one code, or several: of as many neighbours on the axis that is not reduced, lowest bits first. */
export interface FieldCodes {
  /** Bits that are flipped in codes of the highest field, and of the others, so that they are what a dot product reads. */
  readonly topFlip: number;
  readonly lowFlip: number;
  /** value = (what is read + offset) * scale + zero. */
  readonly topOffset: number;
  readonly lowOffset: number;
}

/**
 * Whether codes meet signed integers: of queries, or of probabilities into which scales are folded that have signs.
 */
export function meetsSigned({ tensor, scheme, layout }: TensorPlan): boolean {
  if (tensor === 'key') return true;
  const isFolded = layout?.codes.rows !== 'channels';
  return isFolded && scheme.bits !== 16 && scheme.quantizer.codes === 'fullSigned';
}

/**
 * Bytes that meet signed integers are signed: their highest field is signed, the others are not. With 3 bits no field reaches
 * the highest bit of a byte that is met.
 */
export function fieldCodes(plan: TensorPlan): FieldCodes {
  const { scheme } = plan;
  if (scheme.bits === 16) throw new TypeError('an f16 tensor has no codes');
  const half = 2 ** (scheme.bits - 1);
  const isSigned = scheme.quantizer.mode === 'symmetric' && scheme.outliers === undefined;
  const field = (readsSigned: boolean) =>
    readsSigned === isSigned
      ? { flip: 0, offset: 0 }
      : { flip: half, offset: isSigned ? -half : half };
  const [top, low] = [field(meetsSigned(plan) && scheme.bits !== 3), field(false)];
  return { topFlip: top.flip, lowFlip: low.flip, topOffset: top.offset, lowOffset: low.offset };
}

/** Codes of a byte: with 3 bits two, and two bits of a byte of another word. */
export function fieldsOfByte(bits: number): number {
  return Math.floor(8 / bits);
}

/** Elements of the reduction whose codes share words with each other. */
export function elementsOfWords(bits: number): number {
  return bits === 3 ? 16 : 4;
}

/** Elements of the reduction whose codes share vectors of words with each other. */
export function elementsOfRuns(bits: number): number {
  return bits === 3 ? 32 : 32 / bits;
}

/**
 * Bit, in the codes of a head, of the code of an element of the reduction and of the other axis. See
 * code-places-reduction.wgsl; with 3 bits this is before every fourth vector is spread over the three before it.
 */
export function reductionBit(bits: number, others: number, number: number, other: number): number {
  const fields = fieldsOfByte(bits);
  const quad = Math.floor(number / 4);
  const [run, place] =
    bits === 3
      ? [Math.floor(quad / 8) * 4 + (quad % 4), Math.floor(quad / 4) % 2]
      : [Math.floor(quad / fields), quad % fields];
  const vector = run * (others / 4) + Math.floor(other / 4);
  const word = vector * 4 + place * (4 / fields) + Math.floor((other % 4) / fields);
  return word * 32 + 8 * (number % 4) + bits * (other % fields);
}
