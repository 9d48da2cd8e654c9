/**
 * A reference cache of one layer and one sequence that tests of schemes and accounting drive: token by token, or at once.
 */
import {
  type Cache,
  type Calibration,
  createCache,
  createPlan,
  decodeF16,
  f16Tensor,
  f32Tensor,
  type Geometry,
  type Plan,
  referenceBackend,
  type Scheme,
  type Sequence,
} from '../../src/index.js';
import { lcgNormal, referenceAttention } from '../../src/testing/index.js';

export interface DrivenShape {
  readonly tokens: number;
  readonly kvHeads?: number;
  readonly headDim?: number;
  readonly calibration?: Calibration;
  readonly rotary?: Geometry['rotary'];
  /** f16 bits `[tokens, kvHeads, headDim]`; default: normal, different for keys and values. */
  readonly key?: Uint16Array;
  readonly value?: Uint16Array;
}

export interface WindowRow {
  readonly packed: number;
  readonly tail: number;
  readonly sinks: number;
}

export class DrivenCache {
  readonly plan: Plan;
  readonly key: Uint16Array;
  readonly value: Uint16Array;
  readonly #cache: Cache;
  readonly #sequence: Sequence;
  readonly #kvHeads: number;
  readonly #headDim: number;

  static async open(scheme: Scheme, shape: DrivenShape): Promise<DrivenCache> {
    const { tokens, kvHeads = 1, headDim = 32, calibration, rotary } = shape;
    const plan = createPlan(
      scheme,
      {
        ...{ layers: 1, queryHeads: 2 * kvHeads, kvHeads },
        ...{ keyHeadDim: headDim, valueHeadDim: headDim },
        ...(rotary === undefined ? {} : { rotary }),
      },
      calibration === undefined ? {} : { calibration },
    );
    const cache = await createCache(plan, referenceBackend(), { capacity: { tokens } });
    return new DrivenCache(plan, cache, shape, kvHeads, headDim);
  }

  private constructor(
    plan: Plan,
    cache: Cache,
    shape: DrivenShape,
    kvHeads: number,
    headDim: number,
  ) {
    const normal = (seed: number) =>
      lcgNormal({ seed, shape: [shape.tokens, kvHeads, headDim], dtype: 'f16' });
    this.plan = plan;
    this.key = shape.key ?? normal(101);
    this.value = shape.value ?? normal(202);
    this.#cache = cache;
    this.#sequence = cache.createSequence();
    this.#kvHeads = kvHeads;
    this.#headDim = headDim;
  }

  get length(): number {
    return this.#sequence.length;
  }

  /** Appends the next `count` tokens in one step. */
  async append(count: number): Promise<void> {
    const entries = [{ sequence: this.#sequence, tokens: count }];
    await this.#cache.append(entries, [
      { key: this.#rows(this.key, count), value: this.#rows(this.value, count) },
    ]);
  }

  /** Appends one token a step until the sequence has `length` tokens. */
  async decodeTo(length: number): Promise<void> {
    while (this.length < length) await this.append(1);
  }

  /** Appends one token and attends with one query inside the same step; f32 `[1, queryHeads, headDim]`. */
  async attendInStep(query: Float32Array): Promise<Float32Array> {
    const step = this.#cache.step([{ sequence: this.#sequence, tokens: 1 }]);
    step.append(0, this.#rows(this.key, 1), this.#rows(this.value, 1));
    const result = step.attend(0, f32Tensor(query, [1, 2 * this.#kvHeads, this.#headDim]));
    await step.commit();
    return (await result.read()).output.data as Float32Array;
  }

  /** Attention of the newest position over the committed state. */
  async attend(query: Float32Array): Promise<Float32Array> {
    const tensor = f32Tensor(query, [1, 2 * this.#kvHeads, this.#headDim]);
    const result = await this.#cache.attend(0, tensor, [this.#sequence]).read();
    return result.output.data as Float32Array;
  }

  async materialize(): Promise<{ key: Float32Array; value: Float32Array }> {
    const { key, value } = await this.#cache.materialize(this.#sequence, 0);
    return { key: key.data as Float32Array, value: value.data as Float32Array };
  }

  /** Float64 attention of one query over the given keys and values. */
  expectedAttention(query: Float32Array, key: Float32Array, value: Float32Array): Float64Array {
    return referenceAttention({
      keys: key,
      values: value,
      queries: query,
      tokens: this.length,
      queryTokens: 1,
      queryHeads: 2 * this.#kvHeads,
      kvHeads: this.#kvHeads,
      keyDim: this.#headDim,
      valueDim: this.#headDim,
      scale: 1 / Math.sqrt(this.#headDim),
    }).output;
  }

  /** The tokens appended so far, as f16 values. */
  original(): { key: Float32Array; value: Float32Array } {
    const end = this.length * this.#kvHeads * this.#headDim;
    return {
      key: decodeF16(this.key.subarray(0, end)),
      value: decodeF16(this.value.subarray(0, end)),
    };
  }

  async windows(): Promise<{ key: WindowRow; value: WindowRow }> {
    const { sequences } = await this.#cache.stats();
    const row = (tensor: 'key' | 'value'): WindowRow => {
      const counts = sequences[0]?.classes.find((entry) => entry.tensor === tensor);
      if (counts === undefined) throw new Error(`no page class of ${tensor}s`);
      return { packed: counts.packed, tail: counts.tail, sinks: counts.sinks };
    };
    return { key: row('key'), value: row('value') };
  }

  async stats() {
    return this.#cache.stats();
  }

  async blocks(tensor: 'key' | 'value') {
    return this.#cache.exportBlocks(this.#sequence, 0, tensor);
  }

  #rows(bits: Uint16Array, count: number) {
    const width = this.#kvHeads * this.#headDim;
    const first = this.length * width;
    return f16Tensor(bits.slice(first, first + count * width), [
      count,
      this.#kvHeads,
      this.#headDim,
    ]);
  }
}

/** Root mean square error of packed positions against the originals, in units of the original's deviation. */
export function relativeRmse(
  actual: Float32Array,
  expected: Float32Array,
  first: number,
  end: number,
): number {
  let error = 0;
  let energy = 0;
  for (let i = first; i < end; i++) {
    error += ((actual[i] as number) - (expected[i] as number)) ** 2;
    energy += (expected[i] as number) ** 2;
  }
  return Math.sqrt(error / energy);
}
