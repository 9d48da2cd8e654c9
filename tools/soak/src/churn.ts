/**
 * Appends and attends over churning sequences of one cache, without a model: what a server does for days.
 */
import {
  type Backend,
  type Cache,
  createCache,
  createPlan,
  f16Tensor,
  type Sequence,
} from '@lowbit-kv/core';
import {
  asymmetric,
  channelScaled,
  createDraws,
  inlineScheme,
  lcgNormal,
  symmetric,
} from '@lowbit-kv/core/testing';

const HEADS = 1;
const DIM = 32;
const LAYERS = 2;
const SEQUENCES = 6;
/** Tokens at which a sequence is cut, forked away or given up. */
const LONGEST = 150;

const PLAN = createPlan(
  inlineScheme({
    key: channelScaled(symmetric(3, 'full', 'tokens', 32, { recent: 8, flush: 32 }), 16),
    value: asymmetric(4, 'channels', 32, { recent: 4, flush: 1 }),
    sinks: 2,
  }),
  { layers: LAYERS, queryHeads: 2 * HEADS, kvHeads: HEADS, keyHeadDim: DIM, valueHeadDim: DIM },
  { blockTokens: 64 },
);

export class Churn {
  readonly #cache: Cache;
  readonly #draw: () => number;
  readonly #rows: (count: number, heads: number) => ReturnType<typeof f16Tensor>;
  readonly #sequences: Sequence[];

  private constructor(cache: Cache, seed: number) {
    this.#cache = cache;
    this.#draw = createDraws(seed);
    const pool = lcgNormal({ seed, shape: [4096], dtype: 'f16' });
    this.#rows = (count, heads) => {
      const first = this.#draw() % (pool.length - count * heads * DIM);
      return f16Tensor(pool.slice(first, first + count * heads * DIM), [count, heads, DIM]);
    };
    this.#sequences = Array.from({ length: SEQUENCES }, () => cache.createSequence());
  }

  static async open(backend: Backend, seed: number): Promise<Churn> {
    // Cuts leave short blocks, which take pages beyond their tokens.
    const capacity = { tokens: 4 * SEQUENCES * LONGEST, sequences: 2 * SEQUENCES };
    return new Churn(await createCache(PLAN, backend, { capacity }), seed);
  }

  /** A step of some sequences with attention; what got too long is cut, forked or replaced. Gives appends and attends. */
  async step(): Promise<number> {
    const cache = this.#cache;
    const first = this.#draw() % SEQUENCES;
    const chosen = this.#sequences.slice(first, first + 1 + (this.#draw() % 3));
    const tokens = this.#draw() % 16 === 0 ? 40 : 1;
    const step = cache.step(chosen.map((sequence) => ({ sequence, tokens })));
    let operations = 0;
    for (let layer = 0; layer < LAYERS; layer++) {
      step.append(layer, this.#rows(step.rows, HEADS), this.#rows(step.rows, HEADS));
      const queries = chosen.map(() => 1);
      const query = this.#rows(chosen.length, 2 * HEADS);
      const { output } = await step.attend(layer, query, { queries }).read();
      if (!output.data.every(Number.isFinite) || output.data.every((value) => value === 0))
        throw new Error(`attention of layer ${layer} gave nothing`);
      operations += 2;
    }
    await step.commit();
    for (const sequence of chosen) if (sequence.length > LONGEST) this.#turn(sequence);
    return operations;
  }

  #turn(sequence: Sequence): void {
    const cache = this.#cache;
    const at = this.#sequences.indexOf(sequence);
    const choice = this.#draw() % 4;
    if (choice === 0) cache.truncate(sequence, 30 + (this.#draw() % 70));
    else if (choice === 1) cache.reset(sequence);
    else {
      const other = this.#sequences[(at + 1) % SEQUENCES] as Sequence;
      cache.disposeSequence(sequence);
      this.#sequences[at] = choice === 2 ? cache.createSequence() : cache.fork(other);
    }
  }

  /** Throws when bytes are in use that no sequence holds. */
  async close(): Promise<void> {
    for (const sequence of this.#sequences) this.#cache.disposeSequence(sequence);
    const { bytes } = await this.#cache.stats();
    this.#cache.dispose();
    if (bytes.live !== 0) throw new Error(`${bytes.live} bytes are in use of no sequence`);
  }
}
