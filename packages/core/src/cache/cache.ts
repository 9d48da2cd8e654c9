/**
 * The cache: sequences over a pool of pages. Decides what happens; a backend's store executes it.
 */
import type {
  AttendSequence,
  AttentionResult,
  BlockStore,
  PageCounts,
  TensorView,
} from '../backend.js';
import { LowbitKvError } from '../errors.js';
import { checkCount, checkList, checkOptions } from '../options.js';
import { modelLayers } from '../plan/model-layers.js';
import type { Plan } from '../plan/plan.js';
import type { Tensor } from '../tensor.js';
import { type ExportedBlock, exportBlocks, type MaterializedLayer, materialize } from './export.js';
import { attendUnits } from './head-slices.js';
import { PagePool } from './page-pool.js';
import { Sequence } from './sequence.js';
import { readSnapshot, writeSnapshot } from './snapshot.js';
import { SNAPSHOT_OPTIONS, type SnapshotOptions } from './snapshot-progress.js';
import { type CacheStats, collectStats } from './stats.js';
import {
  ATTEND_OPTIONS,
  type AttendOptions,
  attendSequences,
  checkedJobs,
  checkTarget,
  layerOf,
  Step,
  type StepEntry,
  type StepHost,
} from './step.js';
import { type TensorState, toSpan, truncateState } from './tensor-state.js';
import { checkTruncation } from './truncate.js';

export interface CacheOptions {
  /** Newest tokens that are always still f16, so that they can be taken back exactly. Default 0. */
  readonly rollback?: number;
  /** `mask` stores the rest of a tensor with non-finite values. Default `error`. */
  readonly nonFinite?: 'error' | 'mask';
}

export interface LayerInput {
  readonly key: Tensor;
  readonly value: Tensor;
}

/** Made by `createCache`. */
export class Cache {
  readonly plan: Plan;
  readonly #host: StepHost;
  readonly #sequences = new Set<Sequence>();
  /** Of states that attention outside a step has met: as long as one stays, backends see the same view. */
  readonly #views = new WeakMap<TensorState, TensorView>();
  #nextId = 0;
  #nextStep = 0;
  #disposed = false;

  /** @internal */
  constructor(
    plan: Plan,
    store: BlockStore,
    counts: readonly PageCounts[],
    options: Required<CacheOptions>,
  ) {
    this.plan = plan;
    this.#host = {
      plan,
      layers: modelLayers(plan),
      store,
      pools: counts.map((count) => new PagePool(count)),
      ...options,
      check: () => this.#check(),
      nextStep: () => this.#nextStep++,
    };
  }

  /** An empty sequence. */
  createSequence(): Sequence {
    this.#check();
    const sequence = new Sequence(this.#nextId++, this.plan.classes.length);
    this.#sequences.add(sequence);
    return sequence;
  }

  /** Starts a step over some sequences. Throws OUT_OF_PAGES before any work when the pool cannot hold its result. */
  step(entries: readonly StepEntry[]): Step {
    this.#check();
    checkList('a step', entries, '{ sequence, tokens }');
    for (const entry of entries) this.#own(entry?.sequence);
    return new Step(this.#host, entries);
  }

  /** One step without attention: K and V of every layer, `[rows, kvHeads, headDim]`. */
  async append(entries: readonly StepEntry[], layers: readonly LayerInput[]): Promise<void> {
    if (!Array.isArray(layers) || layers.length !== this.#host.layers.length) {
      throw new LowbitKvError('TENSOR_INVALID', {
        message: 'append needs K and V of every layer',
        value: Array.isArray(layers) ? layers.length : typeof layers,
        valid: `an array of ${this.#host.layers.length} layers`,
        next: 'Pass one { key, value } per layer of the geometry.',
      });
    }
    const step = this.step(entries);
    try {
      for (const [layer, input] of layers.entries()) step.append(layer, input?.key, input?.value);
      await step.commit();
    } finally {
      step.abandon();
    }
  }

  /** Attention over committed tokens; `queries` (default 1 each) are aligned to the end of each sequence. */
  attend(
    layer: number,
    query: Tensor,
    sequences: readonly Sequence[],
    options: AttendOptions = {},
  ): AttentionResult {
    this.#check();
    checkOptions('attend', options, ATTEND_OPTIONS);
    checkList('attend', sequences, 'sequences');
    const modelLayer = layerOf(this.#host.layers, layer);
    for (const sequence of sequences) this.#own(sequence);
    const jobs = checkedJobs(query, modelLayer, ({ plan }) =>
      attendSequences(
        sequences.map((sequence, i) => ({
          length: sequence.length,
          queries: options.queries?.[i] ?? 1,
          key: this.#viewOf(sequence.states[plan.key.class] as TensorState),
          value: this.#viewOf(sequence.states[plan.value.class] as TensorState),
        })),
        options.queries,
      ),
    );
    checkTarget(query, modelLayer, options.into);
    return attendUnits(this.#host.store, modelLayer, query, (unit) => ({
      step: null,
      sequences: jobs.get(unit) as AttendSequence[],
      logSumExp: options.logSumExp ?? false,
      ...(options.into === undefined ? {} : { into: options.into }),
    }));
  }

  /**
   * Cuts a sequence to `length` tokens. Exact everywhere: kept tokens keep their f16 values or codes; a cut block only
   * gets shorter. Throws TRUNCATE_INVALID beyond the length, or when a sliding window has evicted what would be seen.
   */
  truncate(sequence: Sequence, length: number): void {
    this.#check();
    this.#own(sequence).check('truncate');
    const cut = checkCount('length', length, 0);
    checkTruncation(this.plan, sequence, cut);
    const results = sequence.states.map((state) => truncateState(state, cut));
    for (const [index, { dropped }] of results.entries()) {
      for (const entry of dropped) this.#host.pools[index]?.release(entry.kind, entry.page);
    }
    sequence.states = results.map(({ state }) => state);
    sequence.currentLength = cut;
  }

  /** Empties a sequence and forgets its statistics. */
  reset(sequence: Sequence): void {
    this.#check();
    this.#own(sequence).check('reset');
    this.#releaseStates(sequence.states);
    sequence.states = new Sequence(-1, this.plan.classes.length).states;
    sequence.currentLength = 0;
  }

  /** A second sequence with the same tokens. Pages are shared and copied when either side writes to them. */
  fork(sequence: Sequence): Sequence {
    this.#check();
    this.#own(sequence).check('fork');
    const child = this.createSequence();
    this.#retainStates(sequence.states);
    child.states = sequence.states;
    child.currentLength = sequence.currentLength;
    return child;
  }

  /** Beam search: afterwards `sequences[i]` has the tokens that `sequences[from[i]]` had before. */
  reorder(sequences: readonly Sequence[], from: readonly number[]): void {
    this.#check();
    checkList('reorder', sequences, 'sequences');
    checkList('reorder', from, 'numbers');
    for (const sequence of sequences) this.#own(sequence).check('reorder');
    const valid =
      from.length === sequences.length &&
      from.every((i) => Number.isInteger(i) && i >= 0 && i < sequences.length);
    if (!valid || new Set(sequences).size !== sequences.length) {
      throw new LowbitKvError('OPTION_INVALID', {
        message: 'the map of a reorder must name a source for every sequence',
        value: from,
        valid: `${sequences.length} numbers from 0 to ${sequences.length - 1}, over different sequences`,
        next: 'Correct the map.',
      });
    }
    const sources = from.map((i) => sequences[i] as Sequence);
    const taken = sources.map(({ states, currentLength }) => ({ states, currentLength }));
    for (const { states } of taken) this.#retainStates(states);
    for (const [i, sequence] of sequences.entries()) {
      this.#releaseStates(sequence.states);
      Object.assign(sequence, taken[i]);
    }
  }

  /** Gives the pages of a sequence back. Harmless when done twice. */
  disposeSequence(sequence: Sequence): void {
    if (sequence.disposed || this.#disposed) return;
    this.#own(sequence).check('dispose');
    this.#releaseStates(sequence.states);
    sequence.states = [];
    sequence.currentLength = 0;
    sequence.disposed = true;
    this.#sequences.delete(sequence);
  }

  /**
   * Canonical bytes of the packed blocks of one tensor of one layer; unused slots are zero. Where overrides name single
   * heads, blocks of heads that are stored alike, one group of heads after another.
   */
  async exportBlocks(
    sequence: Sequence,
    layer: number,
    tensor: 'key' | 'value',
  ): Promise<ExportedBlock[]> {
    this.#check();
    this.#own(sequence).check('export');
    const { store } = this.#host;
    const { states } = sequence;
    if (tensor !== 'key' && tensor !== 'value') {
      throw new LowbitKvError('OPTION_INVALID', {
        message: 'no such tensor',
        value: tensor,
        valid: ['key', 'value'],
        next: 'Correct the name.',
      });
    }
    return this.#holding([sequence], () =>
      exportBlocks(store, layerOf(this.#host.layers, layer), tensor, states),
    );
  }

  /**
   * Decoded keys and values of one layer as attention sees them, with the inverse transforms applied: f32. Tokens that only
   * some heads still hold (a sliding window drops pages as a whole) are left out.
   */
  async materialize(sequence: Sequence, layer: number): Promise<MaterializedLayer> {
    this.#check();
    this.#own(sequence).check('materialize');
    const { store } = this.#host;
    const { states } = sequence;
    return this.#holding([sequence], () =>
      materialize(store, layerOf(this.#host.layers, layer), states),
    );
  }

  /** One self-describing container with sequences and their pages; shared pages once. Throws the reason of the signal. */
  async snapshot(
    sequences: readonly Sequence[],
    options: SnapshotOptions = {},
  ): Promise<Uint8Array> {
    this.#check();
    checkOptions('snapshot', options, SNAPSHOT_OPTIONS);
    checkList('snapshot', sequences, 'sequences');
    for (const sequence of sequences) this.#own(sequence).check('snapshot');
    return this.#holding(sequences, () =>
      writeSnapshot(this.plan, this.#host.store, sequences, options),
    );
  }

  /**
   * Sequences of a snapshot, in order. Throws SNAPSHOT_INVALID, BLOCK_INVALID, SNAPSHOT_MISMATCH, OUT_OF_PAGES or the reason
   * of the signal; nothing changes then.
   */
  async restore(bytes: Uint8Array, options: SnapshotOptions = {}): Promise<Sequence[]> {
    this.#check();
    checkOptions('restore', options, SNAPSHOT_OPTIONS);
    const { store, pools, nonFinite } = this.#host;
    const restored = await readSnapshot(bytes, this.plan, store, pools, { ...options, nonFinite });
    return restored.map(({ states, length }) => {
      const sequence = this.createSequence();
      sequence.states = states;
      sequence.currentLength = length;
      return sequence;
    });
  }

  /** Exact bytes by part, and what each sequence holds. */
  async stats(): Promise<CacheStats> {
    this.#check();
    return collectStats(this.plan, this.#host.store, this.#host.pools, [...this.#sequences]);
  }

  /** Frees all memory. Harmless when done twice. */
  dispose(): void {
    if (this.#disposed) return;
    this.#disposed = true;
    for (const sequence of this.#sequences) sequence.disposed = true;
    this.#sequences.clear();
    this.#host.store.dispose();
  }

  #viewOf(state: TensorState): TensorView {
    let view = this.#views.get(state);
    if (view === undefined) {
      view = { spans: state.entries.map(toSpan), statistics: state.statistics };
      this.#views.set(state, view);
    }
    return view;
  }

  /** Keeps the pages of sequences from being written or given away while they are read. */
  async #holding<T>(sequences: readonly Sequence[], read: () => Promise<T>): Promise<T> {
    const held = sequences.map((sequence) => sequence.states);
    for (const states of held) this.#retainStates(states);
    try {
      return await read();
    } finally {
      for (const states of held) this.#releaseStates(states);
    }
  }

  #releaseStates(states: readonly TensorState[]): void {
    this.#eachPage(states, (pool, kind, page) => pool.release(kind, page));
  }

  #retainStates(states: readonly TensorState[]): void {
    this.#eachPage(states, (pool, kind, page) => pool.retain(kind, page));
  }

  #eachPage(
    states: readonly TensorState[],
    act: (pool: PagePool, kind: 'packed' | 'window' | 'statistics', page: number) => void,
  ): void {
    for (const [index, state] of states.entries()) {
      const pool = this.#host.pools[index] as PagePool;
      for (const entry of state.entries) act(pool, entry.kind, entry.page);
      if (state.statistics >= 0) act(pool, 'statistics', state.statistics);
    }
  }

  #own(sequence: Sequence): Sequence {
    if (sequence instanceof Sequence && (this.#sequences.has(sequence) || sequence.disposed)) {
      if (sequence.disposed) sequence.check('use it');
      return sequence;
    }
    throw new LowbitKvError('SEQUENCE_STATE', {
      message: 'the sequence does not belong to this cache',
      value: sequence instanceof Sequence ? sequence.id : typeof sequence,
      valid: 'a sequence made by createSequence, fork or restore of the same cache',
      next: 'Move sequences between caches with snapshot and restore.',
    });
  }

  #check(): void {
    if (!this.#disposed) return;
    throw new LowbitKvError('CACHE_DISPOSED', {
      message: 'the cache was disposed',
      value: this.plan.scheme.id,
      valid: 'nothing',
      next: 'Create a new cache.',
    });
  }
}
