/**
 * Attention of layers whose keys and values both stay f16, attention-half.wgsl.
 */
import type { LayerPlan } from '@lowbit-kv/core';
import { type Constants, composeShader } from './compose.js';

const LANES = 32;
/** Channels of one load of a lane. */
const CHUNK = 8;
const LONGEST_HEAD = LANES * CHUNK;
/** Lanes that share a token at least: sums over them end in as many parts as there are loads. */
const FEWEST_LANES = 8;

/** One sequence of 32K to 128K tokens on an H200 is faster in 1024 workgroups than in twice as many, or in three quarters. */
export const HALF_WORKGROUPS = 1024;

/** Whether the kernel is written for a layer. */
export function staysHalf({ key, value }: LayerPlan): boolean {
  return [key, value].every(
    ({ scheme, headDim }) => scheme.bits === 16 && headDim % CHUNK === 0 && headDim <= LONGEST_HEAD,
  );
}

export function halfAttention(
  { key, value }: LayerPlan,
  constants: Constants,
  { subgroupsOf32 }: { readonly subgroupsOf32: boolean },
): string {
  return composeShader(
    { ...constants, TOKEN_LANES: tokenLanes(Math.max(key.headDim, value.headDim)) },
    [
      'job',
      'attention-work',
      'attention-half',
      { part: 'half-rows', prefix: 'key_' },
      { part: 'half-rows', prefix: 'value_' },
      subgroupsOf32 ? 'lanes-subgroup' : 'lanes-workgroup',
      subgroupsOf32 ? 'half-subgroup' : 'half-workgroup',
    ],
    subgroupsOf32 ? ['subgroups'] : [],
  );
}

/** Lanes that share a token: a power of two. */
function tokenLanes(headDim: number): number {
  return Math.max(FEWEST_LANES, 2 ** Math.ceil(Math.log2(headDim / CHUNK)));
}
