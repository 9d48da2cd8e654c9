/**
 * Attention of layers whose keys and values both stay f16, attention-half.wgsl.
 */
import type { LayerPlan, TensorPlan } from '@lowbit-kv/core';
import { type Constants, composeShader } from './compose.js';

const LANES = 32;
/** Channels of one load of a lane. */
const CHUNK = 8;
const LONGEST_HEAD = LANES * CHUNK;
/** Loads of a lane, of the wider tensor, that are on their way at once. */
const LOADS = 8;

/** Whether the kernel is written for a layer. */
export function staysHalf({ key, value }: LayerPlan): boolean {
  return [key, value].every(
    ({ scheme, headDim }) =>
      scheme.bits === 16 && headDim % CHUNK === 0 && headDim <= LONGEST_HEAD,
  );
}

export function halfAttention(
  { key, value }: LayerPlan,
  constants: Constants,
  { subgroupsOf32 }: { readonly subgroupsOf32: boolean },
): string {
  const most = Math.max(lanesOf(key), lanesOf(value));
  // A page of a window has 32 tokens.
  const tile = Math.min(32, (LOADS * LANES) / most);
  const own = {
    TILE: tile,
    // A load reads no more tokens than a tile has.
    key_lanes: Math.max(lanesOf(key), LANES / tile),
    value_lanes: Math.max(lanesOf(value), LANES / tile),
  };
  return composeShader(
    { ...constants, ...own },
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

/** Lanes that a token needs: a power of two. */
function lanesOf({ headDim }: TensorPlan): number {
  return 2 ** Math.ceil(Math.log2(headDim / CHUNK));
}
