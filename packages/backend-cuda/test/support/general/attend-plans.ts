/**
 * Plans of geometries that the plans of the contract lack: many query heads, several blocks of them, rows that end inside of a
 * quad, embeddings of any kind.
 */
import { createPlan, type Geometry, type TensorScheme } from '@lowbit-kv/core';
import {
  asymmetric,
  hybrid,
  inlineCalibration,
  inlineScheme,
  symmetric,
} from '@lowbit-kv/core/testing';
import type { CaseOptions } from './attend-case.js';
import type { NamedPlan } from './contract-plans.js';

const F16: TensorScheme = { bits: 16 };
const AFFINE = asymmetric(4, 'tokens', 32);
const MIXED_VALUES: TensorScheme = {
  ...asymmetric(3, 'channels', 32),
  transforms: [
    { kind: 'channelMean', scope: 'sequence', statisticsTokens: 8 },
    { kind: 'hadamard', seed: 5 },
  ],
};
/** A chain with everything that is undone in another way, on keys that turn. */
const HELD_PLAIN: TensorScheme = {
  ...asymmetric(4, 'channels', 16),
  transforms: [
    { kind: 'channelOrder', scope: 'model' },
    { kind: 'channelMean', scope: 'model' },
    { kind: 'hadamard' },
    { kind: 'channelScale', scope: 'model' },
  ],
  stage: 'pre-rope',
};

/** With a draw whose keys and values lie in the same slots: some 40 items of a query token. */
export const MANY_SPLITS: CaseOptions = { tokens: 1500, slots: 200 };

interface Heads {
  readonly query: number;
  readonly kv: number;
  readonly key: number;
  readonly value: number;
}

export const TURNING_PLAN = named('keys that turn', HELD_PLAIN, AFFINE, {
  heads: { query: 4, kv: 2, key: 64, value: 64 },
  rotary: { pairs: 'halves', dimensions: 48, base: 500_000 },
});

export function attendPlans(): NamedPlan[] {
  const heads = (query: number, kv: number, key: number, value: number): Options => ({
    heads: { query, kv, key, value },
  });
  return [
    named('sixteen query heads to a kv head', AFFINE, MIXED_VALUES, heads(32, 2, 128, 128)),
    named('71 query heads on one', AFFINE, MIXED_VALUES, heads(71, 1, 64, 64)),
    named('24 query heads of wide rows', AFFINE, MIXED_VALUES, heads(24, 1, 576, 512)),
    named('f16 rows of odd lengths', F16, F16, heads(6, 3, 7, 5)),
    named(
      'rows that end inside of a quad',
      symmetric(3, 'full', 'channels', 5),
      hybrid(4, 'full', 4, 'symmetric', 'tokens', 8),
      heads(5, 1, 25, 11),
    ),
    named(
      'rows of two channels',
      AFFINE,
      symmetric(8, 'signmag', 'channels', 2),
      heads(2, 1, 2, 2),
    ),
    TURNING_PLAN,
  ];
}

interface Options {
  readonly heads: Heads;
  readonly rotary?: Geometry['rotary'];
}

function named(
  name: string,
  key: TensorScheme,
  value: TensorScheme,
  { heads, rotary }: Options,
): NamedPlan {
  const geometry: Geometry = {
    layers: 1,
    queryHeads: heads.query,
    kvHeads: heads.kv,
    keyHeadDim: heads.key,
    valueHeadDim: heads.value,
    ...(rotary === undefined ? {} : { rotary }),
  };
  const scheme = inlineScheme({ key, value });
  const calibration = inlineCalibration(scheme, geometry);
  const options = calibration === undefined ? {} : { calibration };
  return { name, plan: createPlan(scheme, geometry, { blockTokens: 64, ...options }) };
}
