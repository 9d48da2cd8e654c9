/**
 * What a scheme stores, in numbers and in words. Exact bits come from the layout of a full block.
 */
import {
  bitsPerElement,
  createPlan,
  type ElementBits,
  type Geometry,
  LowbitKvError,
  type Plan,
  paperBitsPerElement,
  type Scheme,
  schemeFingerprint,
  type TensorScheme,
} from '@lowbit-kv/core';
import type { NamedScheme } from './builtin-schemes.js';
import { placeholderCalibration } from './placeholder-calibration.js';

/** The geometry that `schemes` lays blocks out for: one layer, 8 kv heads of 128 channels. */
export const LISTED_GEOMETRY = {
  layers: 1,
  queryHeads: 32,
  kvHeads: 8,
  keyHeadDim: 128,
  valueHeadDim: 128,
} as const satisfies Geometry;

export interface SchemeSummary {
  readonly id: string;
  readonly title: string;
  /** Package name, or path of the file. */
  readonly source: string;
  readonly fingerprint: string;
  readonly sinks: number;
  readonly packing: Scheme['packing'];
  readonly calibration: Scheme['calibration']['kind'];
  readonly key: TensorSummary;
  readonly value: TensorSummary;
  /** Keys and values together, or null where the scheme cannot be laid out. */
  readonly bitsPerElement: ElementBits | null;
  /** Why it cannot be laid out for the geometry. */
  readonly refused: string | null;
}

export interface TensorSummary {
  readonly bits: number;
  readonly quantizer: string;
  readonly groups: string;
  readonly window: { readonly recent: number; readonly flush: number } | null;
  readonly outliers: string | null;
  readonly transforms: readonly string[];
  /** Of a full block, outliers at the shares of the scheme; null where it cannot be laid out. */
  readonly bitsPerElement: ElementBits | null;
  /** As papers count: without offsets, padding and windows. */
  readonly paperBitsPerElement: number;
}

export function summarize({ scheme, source }: NamedScheme, geometry: Geometry): SchemeSummary {
  const { bits, refused } = measure(scheme, geometry);
  const { kvHeads, keyHeadDim, valueHeadDim } = geometry;
  return {
    id: scheme.id,
    title: scheme.title,
    source,
    fingerprint: schemeFingerprint(scheme),
    sinks: scheme.sinks,
    packing: scheme.packing,
    calibration: scheme.calibration.kind,
    key: {
      ...describeTensor(scheme.key),
      bitsPerElement: bits?.key ?? null,
      paperBitsPerElement: paperBitsPerElement(scheme.key, { kvHeads, headDim: keyHeadDim }),
    },
    value: {
      ...describeTensor(scheme.value),
      bitsPerElement: bits?.value ?? null,
      paperBitsPerElement: paperBitsPerElement(scheme.value, { kvHeads, headDim: valueHeadDim }),
    },
    bitsPerElement: bits?.all ?? null,
    refused,
  };
}

function measure(scheme: Scheme, geometry: Geometry) {
  try {
    return { bits: bitsPerElement(planForSizes(scheme, geometry)), refused: null };
  } catch (error) {
    if (!LowbitKvError.is(error)) throw error;
    return { bits: null, refused: error.message };
  }
}

/** A plan whose calibrated values and rotary embedding mean nothing. */
export function planForSizes(scheme: Scheme, geometry: Geometry): Plan {
  const complete: Geometry = { rotary: { pairs: 'halves' }, ...geometry };
  const calibration = placeholderCalibration(scheme, complete);
  return createPlan(scheme, complete, calibration === null ? {} : { calibration });
}

function describeTensor(
  tensor: TensorScheme,
): Omit<TensorSummary, 'bitsPerElement' | 'paperBitsPerElement'> {
  if (tensor.bits === 16) {
    const nothing = { window: null, outliers: null, transforms: [] };
    return { bits: 16, quantizer: 'f16', groups: 'none', ...nothing };
  }
  const { groups, quantizer, outliers } = tensor;
  const codes = typeof quantizer.codes === 'string' ? quantizer.codes : 'table';
  return {
    bits: tensor.bits,
    quantizer: quantizer.mode === 'asymmetric' ? quantizer.mode : `${quantizer.mode} ${codes}`,
    groups:
      groups.along === 'vector'
        ? `token vector ${groups.scope === 'head' ? 'per head' : 'over all heads'}`
        : `${groups.size} ${groups.along}`,
    window: tensor.window,
    outliers: outliers === undefined ? null : outliers.kind,
    transforms: (tensor.transforms ?? []).map(({ kind }) => kind),
  };
}
