/**
 * Two caches of one plan, on the reference backend and on the backend under test, driven by the same calls and compared
 * after each.
 */
import type { Backend } from '../backend.js';
import type { Cache } from '../cache/cache.js';
import { createCache } from '../cache/create-cache.js';
import type { Sequence } from '../cache/sequence.js';
import { modelLayers } from '../plan/model-layers.js';
import type { Plan } from '../plan/plan.js';
import { referenceBackend } from '../reference/reference-backend.js';
import { f16Tensor, f32Tensor, type HostTensor } from '../tensor.js';
import { lcgNormal } from '../testing/normal.js';
import { ensure, ensureEqual, ensureSame, ensureWithin } from './check.js';
import { type AttentionTolerances, FLOAT64_ATTENTION } from './tolerances.js';

export interface TwinOptions {
  /** Tokens per sequence. Default 512. */
  readonly tokens?: number;
  /** Default 4. */
  readonly sequences?: number;
  readonly rollback?: number;
  readonly nonFinite?: 'error' | 'mask';
  readonly tolerances?: AttentionTolerances;
}

/** A pair of sequences with equal history. */
export interface Pair {
  readonly reference: Sequence;
  readonly subject: Sequence;
}

export interface PairEntry {
  readonly pair: Pair;
  readonly tokens: number;
}

interface Attention {
  readonly output: HostTensor;
  readonly logSumExp: HostTensor | undefined;
}

const SIDES = ['reference', 'subject'] as const;

/** Emulation is allowed: the caller decides what to make of it. */
export async function createTwin(
  plan: Plan,
  backend: Backend,
  options: TwinOptions = {},
): Promise<Twin> {
  const { tokens = 512, sequences = 4, rollback = 0, nonFinite = 'error' } = options;
  const cacheOptions = {
    capacity: { sequences, tokens: tokens * sequences },
    rollback,
    nonFinite,
    allowEmulation: true,
  };
  return new Twin(
    plan,
    await createCache(plan, referenceBackend(), cacheOptions),
    await createCache(plan, backend, cacheOptions),
    options.tolerances ?? FLOAT64_ATTENTION,
  );
}

/** Every comparison throws a ContractFailure when the two sides differ. */
export class Twin {
  readonly plan: Plan;
  readonly reference: Cache;
  readonly subject: Cache;
  readonly #tolerances: AttentionTolerances;
  #seed = 1;

  constructor(plan: Plan, reference: Cache, subject: Cache, tolerances: AttentionTolerances) {
    this.plan = plan;
    this.reference = reference;
    this.subject = subject;
    this.#tolerances = tolerances;
  }

  createPair(): Pair {
    return this.#pair((cache) => cache.createSequence());
  }

  fork(pair: Pair): Pair {
    return this.#pair((cache, side) => cache.fork(pair[side]));
  }

  truncate(pair: Pair, length: number): void {
    for (const side of SIDES) this[side].truncate(pair[side], length);
  }

  reorder(pairs: readonly Pair[], from: readonly number[]): void {
    for (const side of SIDES)
      this[side].reorder(
        pairs.map((pair) => pair[side]),
        from,
      );
  }

  /** A pair restored from the snapshots of the other side. */
  async crossed(pair: Pair): Promise<Pair> {
    const snapshots = {
      reference: await this.subject.snapshot([pair.subject]),
      subject: await this.reference.snapshot([pair.reference]),
    };
    ensureSame(snapshots.reference, snapshots.subject, 'bytes of the snapshots');
    const [reference] = await this.reference.restore(snapshots.reference);
    const [subject] = await this.subject.restore(snapshots.subject);
    return { reference: reference as Sequence, subject: subject as Sequence };
  }

  /** One step with attention in every layer; outputs and log-sum-exp are compared. */
  async step(entries: readonly PairEntry[]): Promise<void> {
    const rows = entries.reduce((sum, entry) => sum + entry.tokens, 0);
    const inputs = modelLayers(this.plan).map(({ geometry }) => ({
      key: this.#drawn([rows, geometry.kvHeads, geometry.keyHeadDim]),
      value: this.#drawn([rows, geometry.kvHeads, geometry.valueHeadDim]),
      query: this.#queries([rows, geometry.queryHeads, geometry.keyHeadDim]),
    }));
    const results: Attention[][] = [];
    for (const side of SIDES) {
      const step = this[side].step(
        entries.map(({ pair, tokens }) => ({ sequence: pair[side], tokens })),
      );
      try {
        const pending = inputs.map(({ key, value, query }, layer) => {
          step.append(layer, key, value);
          return step.attend(layer, query, { logSumExp: true });
        });
        results.push(await Promise.all(pending.map((result) => result.read())));
        await step.commit();
      } finally {
        step.abandon();
      }
    }
    for (const [layer, expected] of (results[0] ?? []).entries())
      this.#compare(results[1]?.[layer], expected, `layer ${layer}, in the step`);
  }

  /** Drawn keys and values, without attention. */
  async grow(pair: Pair, tokens: number): Promise<void> {
    const layers = modelLayers(this.plan).map(({ geometry }) => ({
      key: this.#drawn([tokens, geometry.kvHeads, geometry.keyHeadDim]),
      value: this.#drawn([tokens, geometry.kvHeads, geometry.valueHeadDim]),
    }));
    for (const side of SIDES) await this[side].append([{ sequence: pair[side], tokens }], layers);
  }

  /** The same keys and values in every layer, without attention. */
  async append(pair: Pair, key: HostTensor, value: HostTensor): Promise<void> {
    const tokens = key.shape[0] as number;
    const layers = modelLayers(this.plan).map(() => ({ key, value }));
    for (const side of SIDES) await this[side].append([{ sequence: pair[side], tokens }], layers);
  }

  /** Attention over committed tokens, `queries` per sequence. */
  async attend(pairs: readonly Pair[], queries: readonly number[]): Promise<void> {
    const total = queries.reduce((sum, n) => sum + n, 0);
    for (const { layer, geometry } of modelLayers(this.plan)) {
      const query = this.#queries([total, geometry.queryHeads, geometry.keyHeadDim]);
      const options = { queries, logSumExp: true };
      const [expected, actual] = await Promise.all(
        SIDES.map((side) => {
          const sequences = pairs.map((pair) => pair[side]);
          return this[side].attend(layer, query, sequences, options).read();
        }),
      );
      this.#compare(actual, expected as Attention, `layer ${layer}, committed`);
    }
  }

  /** Every packed block of both sides, byte for byte; returns how many there were. */
  async compareBlocks(pair: Pair): Promise<number> {
    let blocks = 0;
    for (const { layer } of modelLayers(this.plan)) {
      for (const tensor of ['key', 'value'] as const) {
        const expected = await this.reference.exportBlocks(pair.reference, layer, tensor);
        const actual = await this.subject.exportBlocks(pair.subject, layer, tensor);
        const what = `${tensor} blocks of layer ${layer}`;
        ensureEqual(actual.length, expected.length, `number of ${what}`);
        for (const [i, block] of expected.entries()) {
          ensureEqual(actual[i]?.heads, block.heads, `heads of ${what}`);
          ensureEqual(actual[i]?.validTokens, block.validTokens, `valid tokens of ${what}`);
          ensureSame(actual[i]?.bytes ?? [], block.bytes, `${what}, block ${i}, byte for byte`);
        }
        blocks += expected.length;
      }
    }
    return blocks;
  }

  dispose(): void {
    this.reference.dispose();
    this.subject.dispose();
  }

  #pair(make: (cache: Cache, side: (typeof SIDES)[number]) => Sequence): Pair {
    return {
      reference: make(this.reference, 'reference'),
      subject: make(this.subject, 'subject'),
    };
  }

  #drawn(shape: readonly number[]): HostTensor {
    const seed = this.#seed++;
    // A loud channel and a shifted one, so that channels cannot be swapped unnoticed.
    const channelOps = [
      { channel: seed % 7, mul: 4, add: 0 },
      { channel: 8 + (seed % 5), mul: 1, add: 1.5 },
    ].filter(({ channel }) => channel < (shape.at(-1) as number));
    return f16Tensor(lcgNormal({ seed, shape, dtype: 'f16', channelOps }), shape);
  }

  #queries(shape: readonly number[]): HostTensor {
    return f32Tensor(lcgNormal({ seed: this.#seed++, shape, dtype: 'f32' }), shape);
  }

  #compare(actual: Attention | undefined, expected: Attention, what: string): void {
    const { output, logSumExp } = this.#tolerances;
    ensureEqual(actual?.output.shape, expected.output.shape, `${what}: shape of the output`);
    ensureWithin(actual?.output.data ?? [], expected.output.data, output, `${what}: output`);
    ensure(actual?.logSumExp !== undefined, `${what}: no log-sum-exp was returned`);
    ensureWithin(
      actual.logSumExp.data,
      expected.logSumExp?.data ?? [],
      logSumExp,
      `${what}: log-sum-exp`,
    );
  }
}
