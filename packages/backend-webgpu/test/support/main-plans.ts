/**
 * Plans that published schemes come to, written out: 32 query heads on 8 kv heads of 128 channels.
 */
import { createPlan, type Plan, type QuantizedTensorScheme } from '@lowbit-kv/core';
import {
  asymmetric,
  bands,
  channelScaled,
  hybrid,
  inlineScheme,
  type SchemeParts,
  symmetric,
} from '@lowbit-kv/core/testing';
import { bandCalibration } from './band-plans.js';

const f16 = { bits: 16 } as const;
const recent = { recent: 128, flush: 1 };

function turned(tensor: QuantizedTensorScheme): QuantizedTensorScheme {
  return { ...tensor, transforms: [{ kind: 'hadamard', seed: 7 }] };
}

function affine(bits: 2 | 4, size: 32 | 128): SchemeParts {
  return {
    key: asymmetric(bits, 'tokens', size),
    value: asymmetric(bits, 'channels', size, recent),
  };
}

const PARTS: Readonly<Record<string, SchemeParts>> = {
  'affine 4 bit g128': affine(4, 128),
  'affine 4 bit g32': affine(4, 32),
  'affine 2 bit g128': affine(2, 128),
  'affine 2 bit g32': affine(2, 32),
  'affine 4 bit along channels': {
    key: asymmetric(4, 'channels', 128),
    value: asymmetric(4, 'channels', 128),
  },
  'signed scales along channels, 4 bit': {
    key: symmetric(4, 'fullSigned', 'channels', 32),
    value: symmetric(4, 'fullSigned', 'channels', 32),
  },
  'scaled symmetric keys along channels, values along tokens, 3 bit': {
    key: channelScaled(symmetric(3, 'fullSigned', 'channels', 32), 128),
    value: symmetric(3, 'fullSigned', 'tokens', 32),
    sinks: 32,
  },
  'scaled symmetric keys along channels, hybrid values along tokens, 3 and 2 bit': {
    key: channelScaled(symmetric(3, 'signmag', 'channels', 32), 128),
    value: hybrid(2, 'full', 2, 'symmetric', 'tokens', 32),
    sinks: 32,
  },
  'Hadamard, 4 bit': {
    key: turned(asymmetric(4, 'channels', 128)),
    value: turned(asymmetric(4, 'channels', 128)),
  },
  'outlier bands': { key: bands('midRise', 'head', 24), value: bands('midRise', 'head', 24) },
  'f16 rows': { key: f16, value: f16 },
};

export function mainPlans(): { readonly name: string; readonly plan: Plan }[] {
  const geometry = {
    layers: 1,
    queryHeads: 32,
    kvHeads: 8,
    keyHeadDim: 128,
    valueHeadDim: 128,
  };
  return Object.entries(PARTS).map(([name, parts]) => {
    const scheme = inlineScheme(parts);
    const calibration = bandCalibration(scheme, geometry, 'usual');
    return { name, plan: createPlan(scheme, geometry, { ...(calibration && { calibration }) }) };
  });
}
