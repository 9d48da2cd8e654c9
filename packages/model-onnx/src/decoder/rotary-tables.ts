/**
 * The rotary embeddings of the sites of a graph; sites with the same tables share one.
 */
import { LowbitKvError, type RotaryEmbedding } from '@lowbit-kv/core';
import { TensorProto_DataType as DataType } from 'onnx-buf';
import type { GraphView } from '../attention/graph-view.js';
import type { AttentionSite, RotarySite } from '../attention/site.js';
import { RotaryTable } from './rotary.js';

export interface SiteRotary {
  readonly table: RotaryTable;
  /** Null when frequencies cannot say it. */
  readonly embedding: RotaryEmbedding | null;
}

/** Null for a site whose embedding stays in the graph. Throws MODEL_INVALID for tables that do not fit. */
export function rotaryTables(
  view: GraphView,
  sites: readonly AttentionSite[],
): (SiteRotary | null)[] {
  const known = new Map<string, SiteRotary>();
  return sites.map((site) => {
    if (site.rotary === null) return null;
    const key = JSON.stringify(site.rotary);
    const found = known.get(key);
    if (found !== undefined) return found;
    const table = readTable(view, site, site.rotary);
    const rotary = { table, embedding: table.embedding() };
    known.set(key, rotary);
    return rotary;
  });
}

function readTable(
  view: GraphView,
  { geometry, node }: AttentionSite,
  { cosine, sine, pairs }: RotarySite,
): RotaryTable {
  const dims = view.shape(cosine);
  const [cosines, sines] = [view.numbers(cosine), view.numbers(sine)];
  const width = dims?.[1];
  const fits =
    typeof width === 'number' &&
    cosines?.length === sines?.length &&
    2 * width <= geometry.keyHeadDim;
  if (!fits || cosines === null || sines === null) {
    throw new LowbitKvError('MODEL_INVALID', {
      message: `the tables of the rotary embedding of ${node} do not fit`,
      value: { [cosine]: dims, [sine]: view.shape(sine) },
      valid: `two tables [positions, up to ${geometry.keyHeadDim / 2}]`,
      next: 'Fetch or export the model again.',
    });
  }
  const rounding = view.elementType(cosine) === DataType.FLOAT16 ? 'float16' : 'float32';
  const [c, s] = [Float32Array.from(cosines), Float32Array.from(sines)];
  return new RotaryTable(pairs, width, c, s, rounding);
}
