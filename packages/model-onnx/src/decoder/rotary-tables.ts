/**
 * The rotary embeddings of the sites of a graph; sites with the same tables share one.
 */
import { LowbitKvError, type RotaryEmbedding } from '@lowbit-kv/core';
import { TensorProto_DataType as DataType } from 'onnx-buf';
import type { GraphView } from '../attention/graph-view.js';
import { constantTable } from '../attention/rotary-table.js';
import type { AttentionSite, RotarySite } from '../attention/site.js';
import { tensorNumbers } from '../model/tensor-numbers.js';
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
  const [ofCosine, ofSine] = [constantTable(view, cosine), constantTable(view, sine)];
  if (ofCosine === null || ofSine === null) throw new TypeError(`${node} has tables of constants`);
  const dims = ofCosine.tensor.dims.map(Number);
  const [rows = 0, width = 0] = dims;
  const [cosines, sines] = [tensorNumbers(ofCosine.tensor), tensorNumbers(ofSine.tensor)];
  const fits = cosines?.length === sines?.length && 2 * width <= geometry.keyHeadDim;
  if (!fits || cosines === null || sines === null) {
    throw new LowbitKvError('MODEL_INVALID', {
      message: `the tables of the rotary embedding of ${node} do not fit`,
      value: { [cosine]: dims, [sine]: ofSine.tensor.dims.map(Number) },
      valid: `two tables [positions, up to ${geometry.keyHeadDim / 2}]`,
      next: 'Fetch or export the model again.',
    });
  }
  const used = width * Math.min(rows, ofCosine.limit ?? rows);
  const rounding = ofCosine.tensor.dataType === DataType.FLOAT16 ? 'float16' : 'float32';
  const numbers = (all: Float64Array) => Float32Array.from(all.subarray(0, used));
  return new RotaryTable(pairs, width, numbers(cosines), numbers(sines), rounding);
}
