/**
 * The report of `lowbit-kv estimate`: exact bytes of every scheme for one geometry.
 */
import {
  bitsPerElement,
  type Geometry,
  LowbitKvError,
  type Plan,
  planBytes,
  type Scheme,
  schemeFingerprint,
} from '@lowbit-kv/core';
import { planForSizes } from '../schemes/scheme-summary.js';
import { type BytesOf, sequenceBytes, sequencesThatFit, tokensThatFit } from './fit.js';

export interface EstimateReport {
  readonly reportVersion: 1;
  /** Where the geometry comes from: a path, or `--geometry`. */
  readonly source: string;
  readonly geometry: Geometry;
  readonly maxPositions: number | null;
  readonly sequences: number;
  /** Bytes given with `--memory`, for the cache alone; null without. */
  readonly memory: number | null;
  readonly schemes: readonly (EstimatedRow | RefusedRow)[];
}

export interface EstimatedRow {
  readonly id: string;
  readonly status: 'estimated';
  readonly fingerprint: string;
  /** Of full packed blocks, keys and values over all layers. */
  readonly bitsPerElement: number;
  readonly lengths: readonly EstimatedLength[];
  /** Tokens of each sequence up to which every length fits; null without memory, or when `anyLengthFits`. */
  readonly tokensThatFit: number | null;
  /** True where every layer slides and the cache stops growing below the memory. */
  readonly anyLengthFits: boolean;
}

/** All sequences together; f16 counts what attention can see, without pages. */
export interface EstimatedLength {
  readonly tokens: number;
  readonly bytes: number;
  readonly f16Bytes: number;
  /** f16Bytes / bytes. */
  readonly ratio: number;
  /** Sequences of this length; null without memory. */
  readonly sequencesThatFit: number | null;
}

export interface RefusedRow {
  readonly id: string;
  readonly status: 'refused';
  readonly fingerprint: string;
  readonly reason: string;
}

export interface EstimateQuestion {
  readonly geometry: Geometry;
  readonly tokens: readonly number[];
  readonly sequences: number;
  readonly memory: number | null;
}

/** Throws OPTION_INVALID for counts whose bytes cannot be counted exactly. */
export function estimateScheme(
  scheme: Scheme,
  question: EstimateQuestion,
): EstimatedRow | RefusedRow {
  const fingerprint = schemeFingerprint(scheme);
  let plan: Plan;
  try {
    plan = planForSizes(scheme, question.geometry);
  } catch (error) {
    if (!LowbitKvError.is(error)) throw error;
    return { id: scheme.id, status: 'refused', fingerprint, reason: error.message };
  }
  const { memory, sequences, tokens } = question;
  const bytesOf = sequenceBytes(plan);
  const fit = memory === null ? null : tokensThatFit(plan, bytesOf, Math.floor(memory / sequences));
  return {
    id: scheme.id,
    status: 'estimated',
    fingerprint,
    bitsPerElement: bitsPerElement(plan).all.total,
    lengths: tokens.map((length) => estimateLength(plan, bytesOf, length, question)),
    tokensThatFit: fit,
    anyLengthFits: memory !== null && fit === null,
  };
}

function estimateLength(
  plan: Plan,
  bytesOf: BytesOf,
  tokens: number,
  { memory, sequences }: EstimateQuestion,
): EstimatedLength {
  const { total, f16Total } = planBytes(plan, tokens);
  return {
    tokens,
    bytes: sequences * total,
    f16Bytes: sequences * f16Total,
    ratio: f16Total / total,
    sequencesThatFit: memory === null ? null : sequencesThatFit(bytesOf, memory, tokens),
  };
}
