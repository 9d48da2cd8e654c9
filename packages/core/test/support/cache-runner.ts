/**
 * Runs a program on a cache and on the model side by side, and compares everything that can be seen.
 */
import { expect } from 'vitest';
import {
  type AttendOptions,
  type Cache,
  createCache,
  decodeF16,
  f16Tensor,
  f32Tensor,
  f32ToF16,
  type HostTensor,
  type LayerPlan,
  LowbitKvError,
  type ModelLayer,
  modelLayers,
  referenceBackend,
  type Sequence,
  type TensorPlan,
} from '../../src/index.js';
import {
  createDraws,
  maxAbsDifference,
  referenceAttention,
  rotateKeys,
} from '../../src/testing/index.js';
import { SequenceModel, type TokenRows } from './cache-model.js';
import {
  type Command,
  HEADS,
  KEY_DIM,
  LAYERS,
  QUERY_HEADS,
  type Setup,
  VALUE_DIM,
} from './cache-programs.js';
import { firstDifference } from './pointer-cache.js';

/** f32 outputs against float64 over f32 materialized values. */
const ATTENTION_LIMIT = 2e-5;
/** Most sequences alive at once; a setup may reserve room for fewer. */
const SEQUENCES = 5;

interface Pair {
  readonly sequence: Sequence;
  model: SequenceModel;
  /** The longest it ever was: what lies further back than `rollback` from there may be gone. */
  longest: number;
}

/** How often each thing really happened, so that a run can prove that it tested it. */
export type Tally = Record<string, number>;

export class Runner {
  readonly #setup: Setup;
  readonly #cache: Cache;
  readonly #tally: Tally;
  #pairs: Pair[] = [];
  /** False once pages may be shared: then byte counts per part are only bounded. */
  #unshared = true;

  private constructor(setup: Setup, cache: Cache, tally: Tally) {
    this.#setup = setup;
    this.#cache = cache;
    this.#tally = tally;
  }

  static async open(setup: Setup, tally: Tally): Promise<Runner> {
    const cache = await createCache(setup.plan, referenceBackend(), {
      capacity: { tokens: setup.tokens, sequences: setup.sequences },
      rollback: setup.rollback,
    });
    return new Runner(setup, cache, tally);
  }

  async run(commands: readonly Command[]): Promise<void> {
    for (const command of commands) {
      await this.#execute(command);
      await this.#compareAll();
    }
    for (const { sequence } of this.#pairs) this.#cache.disposeSequence(sequence);
    const { bytes } = await this.#cache.stats();
    expect(bytes.live).toBe(0);
    expect(bytes.free).toBe(bytes.allocated);
    this.#pairs = [];
  }

  #count(name: string): void {
    this.#tally[name] = (this.#tally[name] ?? 0) + 1;
  }

  #pick(number: number): Pair {
    if (this.#pairs.length === 0) this.#create();
    return this.#pairs[number % this.#pairs.length] as Pair;
  }

  #picks(numbers: readonly number[]): Pair[] {
    return [...new Set(numbers.map((number) => this.#pick(number)))];
  }

  #create(): void {
    const { plan, rollback } = this.#setup;
    this.#pairs.push({
      sequence: this.#cache.createSequence(),
      model: new SequenceModel(plan.classes, plan.layers.length, rollback),
      longest: 0,
    });
  }

  async #execute(command: Command): Promise<void> {
    switch (command.kind) {
      case 'create':
        if (this.#pairs.length < SEQUENCES) this.#create();
        return;
      case 'step':
        return this.#step(command);
      case 'truncate':
        return this.#truncate(this.#pick(command.pick), command.back);
      case 'reset': {
        const pair = this.#pick(command.pick);
        this.#cache.reset(pair.sequence);
        const { plan, rollback } = this.#setup;
        pair.model = new SequenceModel(plan.classes, plan.layers.length, rollback);
        pair.longest = 0;
        return;
      }
      case 'dispose': {
        const pair = this.#pick(command.pick);
        this.#cache.disposeSequence(pair.sequence);
        this.#pairs = this.#pairs.filter((other) => other !== pair);
        return;
      }
      case 'fork': {
        const { sequence, model, longest } = this.#pick(command.pick);
        if (this.#pairs.length >= SEQUENCES) return;
        this.#unshared = false;
        this.#pairs.push({ sequence: this.#cache.fork(sequence), model: model.copy(), longest });
        return;
      }
      case 'reorder': {
        const pairs = this.#picks(command.picks);
        const from = command.picks.slice(0, pairs.length).map((n) => n % pairs.length);
        if (new Set(from).size !== from.length) this.#unshared = false;
        const models = from.map((i) => (pairs[i] as Pair).model.copy());
        const longest = from.map((i) => (pairs[i] as Pair).longest);
        this.#cache.reorder(
          pairs.map(({ sequence }) => sequence),
          from,
        );
        for (const [i, pair] of pairs.entries()) {
          pair.model = models[i] as SequenceModel;
          pair.longest = longest[i] as number;
        }
        return;
      }
      case 'restore':
        return this.#restore(this.#pick(command.pick));
      case 'attend': {
        const pairs = this.#picks(command.picks);
        await this.#attendCommitted(pairs, 1);
        await this.#attendCommitted(pairs, command.queries);
      }
    }
  }

  async #step(command: Extract<Command, { kind: 'step' }>): Promise<void> {
    const pairs = this.#picks(command.entries.map((entry) => entry.pick));
    const counts = pairs.map((_, i) => command.entries[i]?.tokens ?? 0);
    const entries = pairs.map(({ sequence }, i) => ({ sequence, tokens: counts[i] as number }));
    const total = counts.reduce((sum, count) => sum + count, 0);
    const draw = createDraws(command.seed);
    const rows = Array.from({ length: LAYERS }, () =>
      Array.from({ length: total }, () => randomRows(draw)),
    );
    let step: ReturnType<Cache['step']>;
    try {
      step = this.#cache.step(entries);
    } catch (error) {
      if (!LowbitKvError.is(error, 'OUT_OF_PAGES')) throw error;
      this.#count('out of pages');
      return;
    }
    const old = pairs.map(({ model }) => model);
    const next = pairs.map(({ model }, i) => {
      const first = counts.slice(0, i).reduce((sum, count) => sum + count, 0);
      const copy = model.copy();
      const added = rows.map((layer) => layer.slice(first, first + (counts[i] as number)));
      copy.append(this.#setup.plan.layers.map((unit) => rowsOfHeads(added, unit)));
      copy.takeStatistics(this.#setup.plan.layers);
      return copy;
    });
    for (let layer = 0; layer < LAYERS; layer++) {
      const bad = command.end === 'non-finite' && layer === command.badLayer && total > 0;
      if (command.end === 'missing' && layer === command.badLayer) break;
      const key = joined(rows[layer] as TokenRows[], 'key', KEY_DIM);
      const value = joined(rows[layer] as TokenRows[], 'value', VALUE_DIM);
      if (bad) {
        value.data[value.data.length - 1] = 0x7e00;
        expect(() => step.append(layer, key, value)).toThrow(
          expect.objectContaining({ code: 'NON_FINITE' }),
        );
        this.#count('failed steps');
        return;
      }
      step.append(layer, key, value);
      const queries = counts.map((count) => Math.max(count - command.lessQueries, 0));
      await this.#attendInStep(step, layer, draw, queries, old, next);
    }
    if (command.end === 'commit' || (command.end === 'non-finite' && total === 0)) {
      await step.commit();
      for (const [i, pair] of pairs.entries()) {
        pair.model = next[i] as SequenceModel;
        pair.longest = Math.max(pair.longest, pair.model.length);
      }
      this.#count('committed steps');
    } else {
      if (command.end === 'missing' && total > 0) {
        await expect(step.commit()).rejects.toMatchObject({ code: 'STEP_STATE' });
      }
      step.abandon();
      this.#count('abandoned steps');
    }
  }

  async #attendInStep(
    step: ReturnType<Cache['step']>,
    layer: number,
    draw: () => number,
    queries: readonly number[],
    old: readonly SequenceModel[],
    next: readonly SequenceModel[],
  ): Promise<void> {
    const total = queries.reduce((sum, count) => sum + count, 0);
    const query = randomQueries(draw, total);
    const result = await step.attend(layer, query, { queries, logSumExp: true }).read();
    let first = 0;
    for (const [i, count] of queries.entries()) {
      const before = this.#setup.plan.classes[0]?.packing === 'before-attention';
      const after = next[i] as SequenceModel;
      // A step that packs after its attention sees its own tokens, and the old tail, in f16.
      const seen = (tensor: 'key' | 'value') =>
        this.#joined(layer, tensor, after.length, (plan, unit) =>
          before ? after.values(plan, unit) : withTail(old[i] as SequenceModel, after, plan, unit),
        );
      this.#compareAttention(
        result,
        query,
        { first, count, length: after.length },
        layer,
        seen('key'),
        seen('value'),
      );
      first += count;
      if (count > 0) this.#count(before ? 'attended before packing' : 'attended after packing');
    }
  }

  async #attendCommitted(pairs: readonly Pair[], wanted: number): Promise<void> {
    const queries = pairs.map(({ model }) => Math.min(wanted, Math.max(model.length, 1)));
    const total = queries.reduce((sum, count) => sum + count, 0);
    const query = randomQueries(createDraws(7), total);
    const options: AttendOptions = { queries, logSumExp: true };
    for (let layer = 0; layer < LAYERS; layer++) {
      const sequences = pairs.map(({ sequence }) => sequence);
      const evicted = await this.#evictedFor(pairs, queries, layer);
      if (evicted) {
        expect(() => this.#cache.attend(layer, query, sequences, options)).toThrow(
          expect.objectContaining({ code: 'OPTION_INVALID' }),
        );
        // One query at the end, and one more per token of `rollback`, can always be answered.
        const further = pairs.map(
          ({ longest, model }, i) => longest - model.length + (queries[i] as number) - 1,
        );
        expect(Math.max(...further)).toBeGreaterThan(this.#setup.rollback);
        this.#count('refused queries');
        continue;
      }
      const result = await this.#cache.attend(layer, query, sequences, options).read();
      let first = 0;
      for (const [i, { model }] of pairs.entries()) {
        const count = queries[i] as number;
        this.#compareAttention(
          result,
          query,
          { first, count, length: model.length },
          layer,
          this.#values(model, layer, 'key'),
          this.#values(model, layer, 'value'),
        );
        first += count;
      }
      this.#count('committed attention');
    }
  }

  /** Whether a sliding window has dropped what the first of these queries would see. */
  async #evictedFor(
    pairs: readonly Pair[],
    queries: readonly number[],
    layer: number,
  ): Promise<boolean> {
    const window = this.#layer(layer).geometry.slidingWindow;
    if (window === null) return false;
    for (const [i, { sequence, model }] of pairs.entries()) {
      const first = model.length - (queries[i] as number) - window.size + 1;
      const held = await this.#held(sequence, layer);
      for (let p = Math.max(first, window.sinks); p < model.length; p++)
        if (!held.has(p)) return true;
    }
    return false;
  }

  async #held(sequence: Sequence, layer: number): Promise<Set<number>> {
    const { keyPositions, valuePositions } = await this.#cache.materialize(sequence, layer);
    const values = new Set(valuePositions);
    return new Set(keyPositions.filter((position) => values.has(position)));
  }

  async #truncate(pair: Pair, back: number): Promise<void> {
    const length = Math.max(pair.model.length - back, 0);
    let possible = true;
    for (let layer = 0; layer < LAYERS; layer++) {
      const window = this.#layer(layer).geometry.slidingWindow;
      if (window === null) continue;
      const held = await this.#held(pair.sequence, layer);
      for (let p = Math.max(window.sinks, length - window.size); p < length; p++)
        possible &&= held.has(p);
    }
    if (!possible) {
      expect(() => this.#cache.truncate(pair.sequence, length)).toThrow(
        expect.objectContaining({ code: 'TRUNCATE_INVALID' }),
      );
      expect(pair.longest - length).toBeGreaterThan(this.#setup.rollback);
      this.#count('refused truncations');
      return;
    }
    this.#cache.truncate(pair.sequence, length);
    pair.model = pair.model.copy();
    pair.model.truncate(length);
    this.#count('truncations');
  }

  async #restore({ sequence, model, longest }: Pair): Promise<void> {
    if (this.#pairs.length >= SEQUENCES) return;
    const bytes = await this.#cache.snapshot([sequence]);
    try {
      const [restored] = await this.#cache.restore(bytes);
      this.#pairs.push({ sequence: restored as Sequence, model: model.copy(), longest });
      expect(firstDifference(await this.#cache.snapshot([restored as Sequence]), bytes)).toBe(-1);
      this.#count('restored');
    } catch (error) {
      if (!LowbitKvError.is(error, 'OUT_OF_PAGES')) throw error;
      this.#count('restore out of pages');
    }
  }

  async #compareAll(): Promise<void> {
    for (const pair of this.#pairs) await this.#compare(pair);
    const { bytes, sequences } = await this.#cache.stats();
    expect(bytes.live + bytes.free).toBe(bytes.allocated);
    expect(bytes.alignment).toBeGreaterThanOrEqual(0);
    expect(sequences.map(({ length }) => length).sort()).toEqual(
      this.#pairs.map(({ model }) => model.length).sort(),
    );
    const windowed = this.#setup.plan.layers[0]?.geometry.slidingWindow !== null;
    if (windowed) return;
    for (const { sequence, model } of this.#pairs) {
      const stats = sequences.find(({ id }) => id === sequence.id);
      expect(stats?.classes.map(({ sinks, packed, tail }) => ({ sinks, packed, tail }))).toEqual(
        model.classes.map(({ sinks, packed, tail }) => ({ sinks, packed, tail })),
      );
    }
    if (this.#unshared) expect(bytes.windows).toBe(this.#windowBytes());
  }

  #windowBytes(): number {
    let bytes = 0;
    for (const { key, value } of this.#setup.plan.layers) {
      for (const plan of [key, value]) {
        for (const { model } of this.#pairs) {
          const { sinks, tail } = model.classes[plan.class] as { sinks: number; tail: number };
          bytes += (sinks + tail) * plan.heads * plan.headDim * 2;
        }
      }
    }
    return bytes;
  }

  async #compare({ sequence, model, longest }: Pair): Promise<void> {
    expect(sequence.length).toBe(model.length);
    for (const { layer, geometry, units } of modelLayers(this.#setup.plan)) {
      const stored = await this.#cache.materialize(sequence, layer);
      for (const [tensor, { data, shape }, positions] of [
        ['key', stored.key, stored.keyPositions],
        ['value', stored.value, stored.valuePositions],
      ] as const) {
        const expected = this.#values(model, layer, tensor);
        const width = HEADS * (shape[2] as number);
        if (geometry.slidingWindow === null)
          expect(firstDifference(positions, [...Array(model.length).keys()])).toBe(-1);
        else
          expectHeld(
            positions,
            geometry.slidingWindow,
            longest - this.#setup.rollback,
            model.length,
          );
        for (const [i, position] of positions.entries()) {
          const row = data.subarray(i * width, (i + 1) * width);
          const wanted = expected.subarray(position * width, (position + 1) * width);
          if (firstDifference(row, wanted) !== -1)
            expect.fail(`${tensor} of layer ${layer} at ${position} differs`);
        }
        if (geometry.slidingWindow !== null) continue;
        const blocks = await this.#cache.exportBlocks(sequence, layer, tensor);
        const modelBlocks = units.flatMap(({ index, plan }) =>
          model.blocks(plan[tensor], index).map((block) => ({ ...block, heads: plan.heads })),
        );
        expect(blocks.map(({ bytes: _, ...block }) => block)).toEqual(
          modelBlocks.map(({ bytes: _, ...block }) => block),
        );
        for (const [i, { bytes }] of blocks.entries()) {
          if (firstDifference(bytes, modelBlocks[i]?.bytes ?? []) !== -1)
            expect.fail(`${tensor} block ${i} of layer ${layer} differs`);
          this.#count('blocks compared');
        }
      }
      if (units.length > 1) this.#count('layers of several units compared');
    }
  }

  #layer(layer: number): ModelLayer {
    return modelLayers(this.#setup.plan)[layer] as ModelLayer;
  }

  /** f32 `[length, HEADS, headDim]` of a layer as attention sees it. */
  #values(model: SequenceModel, layer: number, tensor: 'key' | 'value'): Float32Array {
    return this.#joined(layer, tensor, model.length, (plan, unit) => model.values(plan, unit));
  }

  /** Puts together what `valuesOf` gives for each unit, `[length, heads, headDim]`. */
  #joined(
    layer: number,
    tensor: 'key' | 'value',
    length: number,
    valuesOf: (plan: TensorPlan, unit: number) => Float32Array,
  ): Float32Array {
    const dim = tensor === 'key' ? KEY_DIM : VALUE_DIM;
    const result = new Float32Array(length * HEADS * dim);
    for (const { index, plan } of this.#layer(layer).units) {
      const values = valuesOf(plan[tensor], index);
      for (let token = 0; token < length; token++) {
        for (const [i, head] of plan.heads.entries()) {
          const from = (token * plan.heads.length + i) * dim;
          result.set(values.subarray(from, from + dim), (token * HEADS + head) * dim);
        }
      }
    }
    return result;
  }

  #compareAttention(
    result: { output: HostTensor; logSumExp: HostTensor | undefined },
    query: HostTensor,
    span: { first: number; count: number; length: number },
    layer: number,
    keys: Float32Array,
    values: Float32Array,
  ): void {
    const { first, count, length } = span;
    if (count === 0) return;
    const { geometry } = this.#layer(layer);
    if (geometry.rotary !== null) this.#count('keys rotated in attention');
    const slice = (tensor: HostTensor, width: number) =>
      tensor.data.subarray(first * width, (first + count) * width);
    const shape = { tokens: length, kvHeads: HEADS, keyDim: KEY_DIM };
    const oracle = referenceAttention({
      keys: geometry.rotary === null ? keys : rotateKeys(keys, shape, geometry.rotary),
      values,
      queries: slice(query, QUERY_HEADS * KEY_DIM),
      tokens: length,
      queryTokens: count,
      queryHeads: QUERY_HEADS,
      kvHeads: HEADS,
      keyDim: KEY_DIM,
      valueDim: VALUE_DIM,
      scale: geometry.scale,
      ...(geometry.slidingWindow === null ? {} : { slidingWindow: geometry.slidingWindow }),
      ...(geometry.softCap === null ? {} : { logitSoftCap: geometry.softCap }),
    });
    const output = slice(result.output, QUERY_HEADS * VALUE_DIM);
    expect(maxAbsDifference(output, oracle.output)).toBeLessThanOrEqual(ATTENTION_LIMIT);
    const logSumExp = slice(result.logSumExp as HostTensor, QUERY_HEADS);
    expect(maxAbsDifference(logSumExp, oracle.logSumExp)).toBeLessThanOrEqual(ATTENTION_LIMIT);
  }
}

/** Sinks, and whatever a query from position `oldestEnd` on sees, are never evicted. */
function expectHeld(
  positions: readonly number[],
  window: { readonly size: number; readonly sinks: number },
  oldestEnd: number,
  length: number,
): void {
  const held = new Set(positions);
  for (let p = 0; p < length; p++) {
    if ((p < window.sinks || p >= oldestEnd - window.size) && !held.has(p))
      expect.fail(`position ${p} of ${length} was evicted`);
  }
}

/** What a step that packs after its attention sees: packed as before, all else f16. */
function withTail(
  old: SequenceModel,
  next: SequenceModel,
  plan: TensorPlan,
  layer: number,
): Float32Array {
  const rows = next.tokens[layer] ?? [];
  const width = plan.heads * plan.headDim;
  const values = new Float32Array(rows.length * width);
  for (const [i, row] of rows.entries()) values.set(decodeF16(row[plan.tensor]), i * width);
  values.set(old.values(plan, layer));
  return values;
}

/** What a unit is given of the rows of every layer. */
function rowsOfHeads(rows: readonly TokenRows[][], { layer, heads }: LayerPlan): TokenRows[] {
  return (rows[layer] ?? []).map(({ key, value }) => {
    const pick = (bits: Uint16Array, dim: number) =>
      Uint16Array.from(heads.flatMap((head) => [...bits.subarray(head * dim, (head + 1) * dim)]));
    return { key: pick(key, KEY_DIM), value: pick(value, VALUE_DIM) };
  });
}

/** Normal-like values with an outlier now and then, and runs of equal values. */
function randomRows(draw: () => number): TokenRows {
  const fill = (size: number) =>
    Uint16Array.from({ length: size }, (_, i) => {
      const value = (draw() + draw() + draw() - 6144) / 2048;
      const outlier = draw() < 60 ? 8 : 1;
      return f32ToF16(i % 7 === 3 ? 0.25 : value * outlier);
    });
  return { key: fill(HEADS * KEY_DIM), value: fill(HEADS * VALUE_DIM) };
}

function randomQueries(draw: () => number, rows: number): HostTensor {
  const data = Float32Array.from(
    { length: rows * QUERY_HEADS * KEY_DIM },
    () => (draw() - 2048) / 1024,
  );
  return f32Tensor(data, [rows, QUERY_HEADS, KEY_DIM]);
}

function joined(
  rows: readonly TokenRows[],
  tensor: 'key' | 'value',
  dim: number,
): { type: 'f16'; shape: number[]; data: Uint16Array } {
  const data = new Uint16Array(rows.length * HEADS * dim);
  for (const [i, row] of rows.entries()) data.set(row[tensor], i * HEADS * dim);
  return {
    ...f16Tensor(data, [rows.length, HEADS, dim]),
    type: 'f16',
    data,
    shape: [rows.length, HEADS, dim],
  };
}
