/**
 * The two inner loops of attention. Every sum runs in the order of its elements with one accumulator, so results do not
 * depend on how rows and tokens are blocked; several sums run side by side because one alone waits for each addition.
 */

/** Where a run of tokens of a tile meets the logits: row r, token i is `logits[r * columns + column + i]`. */
export interface TileRun {
  /** `[count, dim]` from element `offset` on. */
  readonly values: Float32Array;
  readonly offset: number;
  readonly count: number;
  readonly dim: number;
  readonly rows: number;
  readonly columns: number;
  readonly column: number;
}

/** logits = query . values, all rows (`[rows, dim]`) with all tokens. */
export function dotTile(run: TileRun, query: Float64Array, logits: Float64Array): void {
  let row = 0;
  for (; row + 3 <= run.rows; row += 3) dotThreeRows(run, row, query, logits);
  for (; row < run.rows; row++) dotOneRow(run, row, query, logits);
}

function dotThreeRows(run: TileRun, row: number, query: Float64Array, logits: Float64Array): void {
  const { values, dim, columns } = run;
  const threes = run.count - (run.count % 3);
  let to = row * columns + run.column;
  for (let token = 0; token < threes; token += 3, to += 3) {
    let a0 = 0;
    let a1 = 0;
    let a2 = 0;
    let b0 = 0;
    let b1 = 0;
    let b2 = 0;
    let c0 = 0;
    let c1 = 0;
    let c2 = 0;
    let k = run.offset + token * dim;
    for (let q = row * dim, end = q + dim; q < end; q++, k++) {
      const k0 = values[k] as number;
      const k1 = values[k + dim] as number;
      const k2 = values[k + 2 * dim] as number;
      const qa = query[q] as number;
      const qb = query[q + dim] as number;
      const qc = query[q + 2 * dim] as number;
      a0 += qa * k0;
      b0 += qb * k0;
      c0 += qc * k0;
      a1 += qa * k1;
      b1 += qb * k1;
      c1 += qc * k1;
      a2 += qa * k2;
      b2 += qb * k2;
      c2 += qc * k2;
    }
    logits[to] = a0;
    logits[to + 1] = a1;
    logits[to + 2] = a2;
    logits[to + columns] = b0;
    logits[to + columns + 1] = b1;
    logits[to + columns + 2] = b2;
    logits[to + 2 * columns] = c0;
    logits[to + 2 * columns + 1] = c1;
    logits[to + 2 * columns + 2] = c2;
  }
  for (let token = threes; token < run.count; token++) {
    for (let i = row; i < row + 3; i++) dotOne(run, i, token, query, logits);
  }
}

function dotOneRow(run: TileRun, row: number, query: Float64Array, logits: Float64Array): void {
  const { values, dim } = run;
  const fours = run.count - (run.count % 4);
  let to = row * run.columns + run.column;
  for (let token = 0; token < fours; token += 4, to += 4) {
    let a = 0;
    let b = 0;
    let c = 0;
    let d = 0;
    let k = run.offset + token * dim;
    for (let q = row * dim, end = q + dim; q < end; q++, k++) {
      const x = query[q] as number;
      a += x * (values[k] as number);
      b += x * (values[k + dim] as number);
      c += x * (values[k + 2 * dim] as number);
      d += x * (values[k + 3 * dim] as number);
    }
    logits[to] = a;
    logits[to + 1] = b;
    logits[to + 2] = c;
    logits[to + 3] = d;
  }
  for (let token = fours; token < run.count; token++) dotOne(run, row, token, query, logits);
}

function dotOne(
  run: TileRun,
  row: number,
  token: number,
  query: Float64Array,
  logits: Float64Array,
): void {
  const { values, dim } = run;
  let dot = 0;
  let k = run.offset + token * dim;
  for (let q = row * dim, end = q + dim; q < end; q++, k++) {
    dot += (query[q] as number) * (values[k] as number);
  }
  logits[row * run.columns + run.column + token] = dot;
}

/** Whether a weight of the run is zero. */
export function holdsZero(
  { rows, columns, column, count }: TileRun,
  weights: Float64Array,
): boolean {
  for (let row = 0; row < rows; row++) {
    for (let i = row * columns + column, end = i + count; i < end; i++)
      if (weights[i] === 0) return true;
  }
  return false;
}

/** output (`[rows, dim]`) += weights . values, tokens in order. */
export function addTile(run: TileRun, weights: Float64Array, output: Float64Array): void {
  let row = 0;
  for (; row + 3 <= run.rows; row += 3) addThreeRows(run, row, weights, output);
  for (; row < run.rows; row++) addOneRow(run, row, weights, output);
}

function addThreeRows(
  run: TileRun,
  row: number,
  weights: Float64Array,
  output: Float64Array,
): void {
  const { values, dim, columns } = run;
  const fours = run.count - (run.count % 4);
  const first = row * dim;
  let a = row * columns + run.column;
  let b = a + columns;
  let c = b + columns;
  for (let token = 0; token < fours; token += 4, a += 4, b += 4, c += 4) {
    const a0 = weights[a] as number;
    const a1 = weights[a + 1] as number;
    const a2 = weights[a + 2] as number;
    const a3 = weights[a + 3] as number;
    const b0 = weights[b] as number;
    const b1 = weights[b + 1] as number;
    const b2 = weights[b + 2] as number;
    const b3 = weights[b + 3] as number;
    const c0 = weights[c] as number;
    const c1 = weights[c + 1] as number;
    const c2 = weights[c + 2] as number;
    const c3 = weights[c + 3] as number;
    let v = run.offset + token * dim;
    for (let o = first, end = first + dim; o < end; o++, v++) {
      const v0 = values[v] as number;
      const v1 = values[v + dim] as number;
      const v2 = values[v + 2 * dim] as number;
      const v3 = values[v + 3 * dim] as number;
      output[o] = (output[o] as number) + a0 * v0 + a1 * v1 + a2 * v2 + a3 * v3;
      output[o + dim] = (output[o + dim] as number) + b0 * v0 + b1 * v1 + b2 * v2 + b3 * v3;
      output[o + 2 * dim] = (output[o + 2 * dim] as number) + c0 * v0 + c1 * v1 + c2 * v2 + c3 * v3;
    }
  }
  for (let token = fours; token < run.count; token++) {
    for (let i = row; i < row + 3; i++) addOne(run, i, token, weights, output);
  }
}

function addOneRow(run: TileRun, row: number, weights: Float64Array, output: Float64Array): void {
  const { values, dim } = run;
  const fours = run.count - (run.count % 4);
  const first = row * dim;
  let w = row * run.columns + run.column;
  for (let token = 0; token < fours; token += 4, w += 4) {
    const w0 = weights[w] as number;
    const w1 = weights[w + 1] as number;
    const w2 = weights[w + 2] as number;
    const w3 = weights[w + 3] as number;
    let v = run.offset + token * dim;
    for (let o = first, end = first + dim; o < end; o++, v++) {
      output[o] =
        (output[o] as number) +
        w0 * (values[v] as number) +
        w1 * (values[v + dim] as number) +
        w2 * (values[v + 2 * dim] as number) +
        w3 * (values[v + 3 * dim] as number);
    }
  }
  for (let token = fours; token < run.count; token++) addOne(run, row, token, weights, output);
}

function addOne(
  run: TileRun,
  row: number,
  token: number,
  weights: Float64Array,
  output: Float64Array,
): void {
  const { values, dim } = run;
  const weight = weights[row * run.columns + run.column + token] as number;
  let v = run.offset + token * dim;
  for (let o = row * dim, end = o + dim; o < end; o++, v++) {
    output[o] = (output[o] as number) + weight * (values[v] as number);
  }
}
