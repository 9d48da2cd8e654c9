/**
 * Keys and values that break attention which is right for normal ones: what shared test cases call large means, subnormal scales,
 * overflow of f16 sums, and sinks.
 */
import { f16Tensor, f32ToF16, type HostTensor, type LayerPlan, type Plan } from '@lowbit-kv/core';
import { type AttentionTolerances, INTEGER_ATTENTION, type Twin } from '@lowbit-kv/core/contract';
import { lcgNormal } from '@lowbit-kv/core/testing';

const TOKENS = 700;

export interface AdversarialInput {
  readonly name: string;
  /** How far log-sum-exps may be off where logits are large: 15 bits of a query say no more. */
  readonly logSumExp?: number;
  /** NMSE of outputs where one channel takes the digits of the others: docs/kernels-cuda.md, Error. */
  readonly output?: number;
  /**
   * The same by bits of codes. Those of 8 bits count from a middle that is 128 scales away; keys of 2 bits may be met in f16, where
   * logits have 11 bits.
   */
  readonly outputOfBits?: Readonly<Partial<Record<2 | 8, number>>>;
  /** Blocks of bands of a few elements in size have room for its outliers. */
  readonly isWithinBands?: boolean;
  /** f16 `[tokens, heads, headDim]`. */
  key(tokens: number, heads: number, headDim: number): HostTensor;
  value(tokens: number, heads: number, headDim: number): HostTensor;
}

/** Of one element, from a normal number. */
type Element = (normal: number, token: number, channel: number) => number;

const plain: Element = (normal) => normal;

export const ADVERSARIAL_INPUTS: readonly AdversarialInput[] = [
  // Codes tell tokens apart by a hundredth of what they stand for. Tokens that only one tensor has packed are rounded to f16.
  {
    ...input(
      'large means',
      (normal, _, channel) => normal + (channel % 2 === 0 ? 100 : -60),
      (normal) => normal + 50,
    ),
    logSumExp: 0.1,
  },
  // Scales are the smallest that there are.
  {
    ...input(
      'subnormal scales',
      (normal) => normal * 2e-6,
      (normal) => normal * 2e-6,
    ),
    outputOfBits: { 8: 4e-3 ** 2 },
  },
  // Sums of products are beyond f16 before they are scaled, of some tokens; logits have 15 bits of them, and two tokens may tie.
  {
    ...input(
      'sums beyond f16',
      (normal, token) => (token % 64 === 5 ? 6000 : 60) * normal,
      (normal) => 9000 * normal,
    ),
    logSumExp: 10,
    outputOfBits: { 2: 1e-2 ** 2, 8: 1.1e-2 ** 2 },
  },
  // Two tokens take nearly all of the attention, and have values unlike the others.
  {
    ...input(
      'sinks',
      (normal, token) => (token < 2 ? 9 * normal : 0.3 * normal),
      (normal, token) => (token < 2 ? 0.02 * normal : normal),
    ),
    logSumExp: 0.01,
    output: 1.2e-3 ** 2,
    isWithinBands: true,
  },
  {
    ...input(
      'loud channels',
      (normal, _, channel) => (channel % 37 === 5 ? 12 : 1) * normal,
      plain,
    ),
    logSumExp: 0.01,
    output: 2.5e-3 ** 2,
    isWithinBands: true,
  },
];

function input(name: string, key: Element, value: Element): AdversarialInput {
  const tensor =
    (element: Element, seed: number) => (tokens: number, heads: number, dim: number) => {
      const normals = lcgNormal({ shape: [tokens, heads, dim], seed, dtype: 'f32' });
      const bits = Uint16Array.from(normals, (normal, i) =>
        f32ToF16(element(normal, Math.floor(i / (heads * dim)), i % dim)),
      );
      return f16Tensor(bits, [tokens, heads, dim]);
    };
  return { name, key: tensor(key, 5), value: tensor(value, 6) };
}

export function tolerancesOf(input: AdversarialInput, { layers }: Plan): AttentionTolerances {
  const { output, logSumExp } = INTEGER_ATTENTION;
  const { 2: of2Bits, 8: of8Bits } = input.outputOfBits ?? {};
  const has2Bits = layers.some(({ key }) => key.scheme.bits === 2);
  const has8Bits = layers.some(
    ({ key, value }) => key.scheme.bits === 8 || value.scheme.bits === 8,
  );
  const own = (has8Bits ? of8Bits : has2Bits ? of2Bits : undefined) ?? input.output;
  return {
    output: { ...output, value: own ?? output.value },
    logSumExp: { ...logSumExp, value: input.logSumExp ?? logSumExp.value },
  };
}

/** Three query tokens over the input. Throws what comparisons of the twin throw. */
export async function attendAdversarial(twin: Twin, input: AdversarialInput): Promise<void> {
  const { kvHeads, keyHeadDim, valueHeadDim } = (twin.plan.layers[0] as LayerPlan).geometry;
  const key = input.key(TOKENS, kvHeads, keyHeadDim);
  const pair = twin.createPair();
  await twin.append(pair, key, input.value(TOKENS, kvHeads, valueHeadDim));
  await twin.attend([pair], [3]);
}
