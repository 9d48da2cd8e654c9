/**
 * Memory of a whole model at some context lengths, from the plan, and the bits per element of a cache, from its bytes.
 */
import { type CacheStats, type Plan, planBytes } from '@lowbit-kv/core';
import { meanOf } from './metrics.js';
import type { BitFigures, MemoryFigure } from './report.js';

/** Context lengths a report has memory for. */
export const MEMORY_TOKENS = [8192, 32768, 131072] as const;

/** One sequence of each length: the pages it holds, with what a scheme reserves for outliers. */
export function memoryFigures(plan: Plan): MemoryFigure[] {
  return MEMORY_TOKENS.map((tokens) => {
    const { total, f16Total } = planBytes(plan, tokens);
    return { tokens, bytes: total, f16Bytes: f16Total, ratio: f16Total / total };
  });
}

/** Bits per element that hold data, outliers as the scheme foresees them. */
function plannedBits(plan: Plan, tokens: number): number {
  const { codes, parameters, outliers, windows, statistics, f16Total } = planBytes(plan, tokens);
  return (16 * (codes + parameters + outliers.expected + windows + statistics)) / f16Total;
}

/** Bits per element of the one sequence a cache holds, and of what it held at some lengths, the last among them. */
export function bitFigures(
  plan: Plan,
  { bytes, sequences }: CacheStats,
  lengths: readonly number[],
): BitFigures {
  const counts = sequences[0]?.classes ?? [];
  let elements = 0;
  let packedElements = 0;
  for (const { key, value } of plan.layers) {
    for (const tensor of [key, value]) {
      const { sinks, packed, tail } = counts[tensor.class] as (typeof counts)[number];
      elements += (sinks + packed + tail) * tensor.heads * tensor.headDim;
      packedElements += packed * tensor.heads * tensor.headDim;
    }
  }
  const per = (part: number, all: number) => (8 * part) / all;
  const { codes, parameters, outliers, windows, statistics, alignment, live } = bytes;
  const used = per(live - alignment, elements);
  // Plans know outliers by expectation; the difference is the same at every length, nearly.
  const planned = lengths.map((length) => plannedBits(plan, length));
  return {
    total: per(live, elements),
    used,
    attended: used + meanOf(planned) - (planned.at(-1) as number),
    codes: per(codes, elements),
    parameters: per(parameters, elements),
    outliers: per(outliers, elements),
    windows: per(windows, elements),
    statistics: per(statistics, elements),
    unused: per(alignment, elements),
    packed:
      packedElements === 0
        ? null
        : {
            total: per(codes + parameters + outliers, packedElements),
            codes: per(codes, packedElements),
            parameters: per(parameters, packedElements),
            outliers: per(outliers, packedElements),
          },
  };
}
