/**
 * Whether the presets that come with this command load, validate and lay out.
 */
import { createLowbitKv, LowbitKvError } from '@lowbit-kv/core';
import { builtinSchemes } from '../schemes/builtin-schemes.js';
import { LISTED_GEOMETRY, summarize } from '../schemes/scheme-summary.js';

export interface SchemeReport {
  readonly id: string;
  readonly source: string;
  /** Null when the scheme is usable. */
  readonly reason: string | null;
}

export async function examineSchemes(): Promise<SchemeReport[]> {
  const named = await builtinSchemes();
  return named.map(({ scheme, source }) => {
    try {
      createLowbitKv({ schemes: [scheme] });
      const { refused } = summarize({ scheme, source }, LISTED_GEOMETRY);
      return { id: scheme.id, source, reason: refused };
    } catch (error) {
      if (!LowbitKvError.is(error)) throw error;
      return { id: scheme.id, source, reason: error.message };
    }
  });
}
