/**
 * The float64 attention of the law: one kv head of one sequence, over decoded tiles.
 *
 * o = softmax(cap(scale q.k)) v over the positions a query may see; the log-sum-exp is natural, over the same logits.
 */
import type { LayerGeometry } from '../geometry.js';
import { type Columns, columnOf, isVisible, logitOf, type Visible } from './attention-columns.js';
import { addTile, dotTile, holdsZero } from './attention-kernels.js';
import { preRopeTile } from './pre-rope-tile.js';
import type { RotaryRotation } from './rotary.js';
import type { Transforms } from './transforms.js';

/** Decoded tokens of one kv head: `values` is `[count, headDim]` from element `offset` on. */
export interface DecodedTile {
  readonly values: Float32Array;
  readonly offset: number;
  readonly count: number;
  readonly position: number;
  /** The values are as packed: still transformed. */
  readonly transformed: boolean;
}

export interface HeadAttention {
  readonly geometry: LayerGeometry;
  /** Tokens of the sequence, the queries' own included. */
  readonly length: number;
  readonly queries: number;
  readonly key: readonly DecodedTile[];
  readonly value: readonly DecodedTile[];
  /** Query row i of head g: `query[queryOffset(i, g) ...]`, f32. */
  readonly query: Float32Array;
  readonly queryOffset: (query: number, groupHead: number) => number;
  readonly kvHead: number;
  /** Given when keys are held before the rotary embedding; queries are rotated already. */
  readonly rotary: RotaryRotation | null;
  readonly keyTransforms: Transforms | null;
  readonly valueTransforms: Transforms | null;
  readonly outputOffset: (query: number, groupHead: number) => number;
  readonly output: Float32Array;
  readonly logSumExp: Float32Array | null;
  readonly logSumExpOffset: (query: number, groupHead: number) => number;
}

/** Logits held at once. */
const LOGIT_BUDGET = 1 << 21;

/** Computes the output rows of all query heads that share this kv head. */
export function attendHead(job: HeadAttention): void {
  const { geometry, length, queries } = job;
  const group = geometry.queryHeads / geometry.kvHeads;
  const window = geometry.slidingWindow;
  // Columns: the sinks, then every position the oldest query may still see.
  const firstVisible = window === null ? 0 : Math.max(0, length - queries - window.size + 1);
  const sinkColumns = window === null ? 0 : Math.min(window.sinks, firstVisible);
  const columns = sinkColumns + length - firstVisible;
  const block = Math.max(1, Math.floor(LOGIT_BUDGET / Math.max(1, columns * group)));
  for (let first = 0; first < queries; first += block) {
    attendRows(job, first, Math.min(block, queries - first), {
      firstVisible,
      sinkColumns,
      columns,
    });
  }
}

function attendRows(job: HeadAttention, first: number, count: number, layout: Columns): void {
  const { geometry } = job;
  const group = geometry.queryHeads / geometry.kvHeads;
  const rows = count * group;
  const { columns } = layout;
  const logits = new Float64Array(rows * columns).fill(Number.NEGATIVE_INFINITY);
  const plain = plainQueries(job, first, rows);
  const transformed =
    job.keyTransforms === null || job.rotary !== null ? plain : transformQueries(job, plain, rows);
  const visible: Visible = (row, position) =>
    isVisible(
      position,
      job.length - job.queries + first + Math.floor(row / group),
      geometry.slidingWindow,
    );
  const position = job.length - job.queries + first;
  const seen = (tile: DecodedTile) => seenByAll(tile, position, count, geometry.slidingWindow);
  for (const tile of job.key) {
    if (job.rotary !== null)
      preRopeTile(job, job.rotary, tile, rows, plain.values, logits, layout, visible);
    else {
      const query = tile.transformed ? transformed : plain;
      keyTile(job, tile, seen(tile), rows, query, logits, layout, visible);
    }
  }
  const sums = softmax(logits, rows, columns);
  const output = new Float64Array(rows * geometry.valueHeadDim);
  const packed = job.valueTransforms === null ? output : new Float64Array(output.length);
  for (const tile of job.value) {
    const sum = tile.transformed ? packed : output;
    valueTile(job, tile, seen(tile), rows, logits, sum, layout);
  }
  if (job.valueTransforms !== null) addInverted(job, rows, logits, packed, output, layout);
  for (let row = 0; row < rows; row++) {
    const query = first + Math.floor(row / group);
    const { maximum, total } = sums[row] as RowSum;
    const to = job.outputOffset(query, row % group);
    for (let c = 0; c < geometry.valueHeadDim; c++) {
      job.output[to + c] =
        total === 0 ? 0 : (output[row * geometry.valueHeadDim + c] as number) / total;
    }
    if (job.logSumExp !== null) {
      job.logSumExp[job.logSumExpOffset(query, row % group)] =
        total === 0 ? Number.NEGATIVE_INFINITY : maximum + Math.log(total);
    }
  }
}

/** Query rows, and what is added to each dot product of a row. */
interface QueryRows {
  readonly values: Float64Array;
  readonly added: Float64Array;
}

function plainQueries(job: HeadAttention, first: number, rows: number): QueryRows {
  const { queryHeads, kvHeads, keyHeadDim: dim } = job.geometry;
  const group = queryHeads / kvHeads;
  const values = new Float64Array(rows * dim);
  for (let row = 0; row < rows; row++) {
    const from = job.queryOffset(first + Math.floor(row / group), row % group);
    values.set(job.query.subarray(from, from + dim), row * dim);
  }
  return { values, added: new Float64Array(rows) };
}

function transformQueries(job: HeadAttention, plain: QueryRows, rows: number): QueryRows {
  const dim = job.geometry.keyHeadDim;
  const values = plain.values.slice();
  const added = new Float64Array(rows);
  for (let row = 0; row < rows; row++)
    added[row] = (job.keyTransforms as Transforms).applyToQuery(values, row * dim, job.kvHead);
  return { values, added };
}

/** output += the weighted sums of packed values, transforms undone. */
function addInverted(
  job: HeadAttention,
  rows: number,
  weights: Float64Array,
  packed: Float64Array,
  output: Float64Array,
  layout: Columns,
): void {
  const dim = job.geometry.valueHeadDim;
  for (let row = 0; row < rows; row++) {
    let weight = 0;
    for (const tile of job.value) {
      for (let token = 0; tile.transformed && token < tile.count; token++) {
        const column = columnOf(tile.position + token, layout);
        if (column >= 0) weight += weights[row * layout.columns + column] as number;
      }
    }
    (job.valueTransforms as Transforms).invert(packed, row * dim, job.kvHead, weight);
  }
  for (let i = 0; i < output.length; i++) output[i] = (output[i] as number) + (packed[i] as number);
}

interface TokenRange {
  readonly from: number;
  readonly to: number;
}

/** Tokens of a tile that each of `count` queries from `position` on sees: no mask is needed for them. */
function seenByAll(
  tile: DecodedTile,
  position: number,
  count: number,
  window: LayerGeometry['slidingWindow'],
): TokenRange {
  const to = Math.min(tile.count, position + 1 - tile.position);
  const inSinks = window === null || tile.position + tile.count <= window.sinks;
  const from = inSinks ? 0 : Math.max(0, position + count - window.size - tile.position);
  return from < to ? { from, to } : { from: 0, to: 0 };
}

function keyTile(
  job: HeadAttention,
  tile: DecodedTile,
  seen: TokenRange,
  rows: number,
  query: QueryRows,
  logits: Float64Array,
  layout: Columns,
  visible: Visible,
): void {
  const { geometry } = job;
  const dim = geometry.keyHeadDim;
  const { columns } = layout;
  if (seen.from < seen.to) {
    const column = columnOf(tile.position + seen.from, layout);
    const count = seen.to - seen.from;
    const offset = tile.offset + seen.from * dim;
    const run = { values: tile.values, offset, count, dim, rows, columns, column };
    dotTile(run, query.values, logits);
    for (let row = 0; row < rows; row++) {
      for (let i = row * columns + column, end = i + count; i < end; i++) {
        logits[i] = logitOf((logits[i] as number) + (query.added[row] as number), geometry);
      }
    }
  }
  for (let token = 0; token < tile.count; token++) {
    if (token === seen.from) token = seen.to;
    if (token >= tile.count) break;
    const position = tile.position + token;
    const column = columnOf(position, layout);
    if (column < 0) continue;
    for (let row = 0; row < rows; row++) {
      if (!visible(row, position)) continue;
      let dot = query.added[row] as number;
      for (let c = 0, k = tile.offset + token * dim, q = row * dim; c < dim; c++) {
        dot += (query.values[q++] as number) * (tile.values[k++] as number);
      }
      logits[row * columns + column] = logitOf(dot, geometry);
    }
  }
}

interface RowSum {
  readonly maximum: number;
  readonly total: number;
}

/** Replaces logits by exp(logit - row maximum). */
function softmax(logits: Float64Array, rows: number, columns: number): RowSum[] {
  const sums: RowSum[] = [];
  for (let row = 0; row < rows; row++) {
    const start = row * columns;
    let maximum = Number.NEGATIVE_INFINITY;
    for (let i = start; i < start + columns; i++)
      if ((logits[i] as number) > maximum) maximum = logits[i] as number;
    let total = 0;
    // Every logit is minus infinity (nothing is visible), whose difference is no number, or is no number itself.
    if (maximum === Number.NEGATIVE_INFINITY) {
      if (logits.subarray(start, start + columns).some(Number.isNaN)) total = Number.NaN;
      logits.fill(0, start, start + columns);
    } else {
      for (let i = start; i < start + columns; i++) {
        const weight = Math.exp((logits[i] as number) - maximum);
        logits[i] = weight;
        total += weight;
      }
    }
    sums.push({ maximum, total });
  }
  return sums;
}

function valueTile(
  job: HeadAttention,
  tile: DecodedTile,
  seen: TokenRange,
  rows: number,
  weights: Float64Array,
  output: Float64Array,
  layout: Columns,
): void {
  const { valueHeadDim: dim } = job.geometry;
  const { values } = tile;
  const { columns } = layout;
  for (let token = 0; token < tile.count; token++) {
    if (token === seen.from && seen.from < seen.to) {
      const column = columnOf(tile.position + token, layout);
      const count = seen.to - seen.from;
      const offset = tile.offset + token * dim;
      const run = { values, offset, count, dim, rows, columns, column };
      // A weight of zero must hide its value, which may be anything: 0 times infinity is NaN.
      if (!holdsZero(run, weights)) {
        addTile(run, weights, output);
        token = seen.to;
      }
    }
    if (token >= tile.count) break;
    const column = columnOf(tile.position + token, layout);
    if (column < 0) continue;
    for (let row = 0; row < rows; row++) {
      const weight = weights[row * columns + column] as number;
      if (weight === 0) continue;
      for (let c = 0, v = tile.offset + token * dim, o = row * dim; c < dim; c++, o++) {
        output[o] = (output[o] as number) + weight * (values[v++] as number);
      }
    }
  }
}
