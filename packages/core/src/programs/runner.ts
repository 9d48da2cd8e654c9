/**
 * Runs a program on a cache and on the models side by side, and compares everything that can be seen after every operation.
 */
import type { Backend } from '../backend.js';
import type { Cache } from '../cache/cache.js';
import { createCache } from '../cache/create-cache.js';
import { ensureEqual } from '../contract/check.js';
import { type AttentionTolerances, DECODED_ATTENTION } from '../contract/tolerances.js';
import { attendCommitted, type RunContext } from './attend-command.js';
import type { Command } from './commands.js';
import { compareBytes, compareSequence } from './compare-contents.js';
import { Expected } from './expected.js';
import { type Pair, Tally } from './pair.js';
import { SequenceModel } from './sequence-model.js';
import type { Setup } from './setups.js';
import { moveAll, restoreHere } from './snapshot-commands.js';
import { runStep } from './step-command.js';
import { truncate } from './truncate-command.js';

/** Most sequences alive at once; a setup may reserve room for fewer. */
const SEQUENCES = 5;

export interface RunOptions {
  /** Of attention against float64 attention over the decoded cache. Default: `DECODED_ATTENTION`. */
  readonly tolerances?: AttentionTolerances;
  readonly tally?: Tally;
  /** Whether an error is a fault that was put in: then nothing may have changed, and the operation is done again. */
  readonly isFault?: (error: unknown) => boolean;
}

/** Runs a program on a new cache, which is disposed at the end. Throws a ContractFailure where cache and model differ. */
export async function runProgram(
  backend: Backend,
  setup: Setup,
  program: readonly Command[],
  options: RunOptions = {},
): Promise<void> {
  const runner = new Runner(backend, setup, options);
  try {
    await runner.run(program);
  } finally {
    runner.dispose();
  }
}

class Runner {
  readonly #backend: Backend;
  readonly #setup: Setup;
  readonly #expected: Expected;
  readonly #tolerances: AttentionTolerances;
  readonly #tally: Tally;
  readonly #isFault: (error: unknown) => boolean;
  #cache: Cache | undefined;
  #pairs: Pair[] = [];
  /** False once pages may be shared: then byte counts per part are only bounded. */
  #unshared = true;

  constructor(backend: Backend, setup: Setup, options: RunOptions) {
    this.#backend = backend;
    this.#setup = setup;
    this.#expected = new Expected(setup.plan);
    this.#tolerances = options.tolerances ?? DECODED_ATTENTION;
    this.#tally = options.tally ?? new Tally();
    this.#isFault = options.isFault ?? (() => false);
  }

  async run(program: readonly Command[]): Promise<void> {
    this.#cache = await this.#again(() => this.#open(this.#backend));
    for (const command of program) {
      await this.#again(() => this.#execute(command));
      await this.#again(() => this.#compare());
      this.#tally.add('operations');
    }
    for (const { sequence } of this.#pairs) this.#context.cache.disposeSequence(sequence);
    this.#pairs = [];
    const { bytes } = await this.#again(() => this.#context.cache.stats());
    ensureEqual(bytes.live, 0, 'live bytes of no sequence');
    ensureEqual(bytes.free, bytes.allocated, 'free bytes without a sequence');
    this.#tally.add('programs');
  }

  dispose(): void {
    this.#cache?.dispose();
  }

  /** Once more after a fault that was put in. */
  async #again<T>(work: () => Promise<T>): Promise<T> {
    try {
      return await work();
    } catch (error) {
      if (!this.#isFault(error)) throw error;
      this.#tally.add('faults');
      if (this.#cache !== undefined) await this.#compare();
      return work();
    }
  }

  get #context(): RunContext {
    return {
      cache: this.#cache as Cache,
      expected: this.#expected,
      rollback: this.#setup.rollback,
      tolerances: this.#tolerances,
      tally: this.#tally,
    };
  }

  #open(backend: Backend): Promise<Cache> {
    const { plan, tokens, sequences, rollback } = this.#setup;
    const capacity = { tokens, sequences };
    return createCache(plan, backend, { capacity, rollback, allowEmulation: true });
  }

  #pick(number: number): Pair {
    if (this.#pairs.length === 0) this.#create();
    return this.#pairs[number % this.#pairs.length] as Pair;
  }

  #picks(numbers: readonly number[]): Pair[] {
    return [...new Set(numbers.map((number) => this.#pick(number)))];
  }

  #create(): void {
    const sequence = this.#context.cache.createSequence();
    this.#pairs.push({ sequence, model: this.#emptyModel(), longest: 0 });
  }

  #emptyModel(): SequenceModel {
    const { plan, rollback } = this.#setup;
    return new SequenceModel(plan.classes, plan.layers.length, rollback);
  }

  async #execute(command: Command): Promise<void> {
    const { cache } = this.#context;
    switch (command.kind) {
      case 'create':
        if (this.#pairs.length < SEQUENCES) this.#create();
        return;
      case 'step': {
        const pairs = this.#picks(command.entries.map((entry) => entry.pick));
        const others = this.#pairs.filter((pair) => !pairs.includes(pair));
        return runStep(this.#context, this.#setup, command, pairs, others);
      }
      case 'truncate':
        return truncate(this.#context, this.#pick(command.pick), command.back);
      case 'reset': {
        const pair = this.#pick(command.pick);
        cache.reset(pair.sequence);
        Object.assign(pair, { model: this.#emptyModel(), longest: 0 });
        return;
      }
      case 'dispose': {
        const pair = this.#pick(command.pick);
        cache.disposeSequence(pair.sequence);
        this.#pairs = this.#pairs.filter((other) => other !== pair);
        return;
      }
      case 'fork': {
        const { sequence, model, longest } = this.#pick(command.pick);
        if (this.#pairs.length >= SEQUENCES) return;
        this.#unshared = false;
        this.#pairs.push({ sequence: cache.fork(sequence), model: model.copy(), longest });
        return;
      }
      case 'reorder':
        return this.#reorder(command.picks);
      case 'restore':
        return this.#restore(this.#picks(command.picks));
      case 'move':
        return this.#move();
      case 'attend': {
        const pairs = this.#picks(command.picks);
        await attendCommitted(this.#context, pairs, 1);
        await attendCommitted(this.#context, pairs, command.queries);
      }
    }
  }

  #reorder(picks: readonly number[]): void {
    const pairs = this.#picks(picks);
    const from = picks.slice(0, pairs.length).map((n) => n % pairs.length);
    if (new Set(from).size !== from.length) this.#unshared = false;
    const taken = from.map((i) => pairs[i] as Pair);
    const parts = taken.map(({ model, longest }) => ({ model: model.copy(), longest }));
    this.#context.cache.reorder(
      pairs.map(({ sequence }) => sequence),
      from,
    );
    for (const [i, pair] of pairs.entries()) Object.assign(pair, parts[i]);
  }

  /** What was restored lives on beside what it is of. */
  async #restore(pairs: readonly Pair[]): Promise<void> {
    if (this.#pairs.length + pairs.length > SEQUENCES) return;
    const { restored, check } = await restoreHere(this.#context, pairs);
    this.#pairs.push(...restored);
    await check();
  }

  async #move(): Promise<void> {
    if (this.#pairs.length === 0) return;
    const old = this.#context.cache;
    this.#cache = await moveAll(this.#context, this.#pairs, (backend) =>
      this.#open(backend ?? this.#backend),
    );
    old.dispose();
  }

  async #compare(): Promise<void> {
    const { cache, rollback, tally } = this.#context;
    for (const pair of this.#pairs)
      await compareSequence(cache, this.#expected, pair, rollback, tally);
    await compareBytes(cache, this.#setup, this.#pairs, this.#unshared);
  }
}
