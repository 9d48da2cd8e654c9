/**
 * Appends to a layer whose packed pages are in canonical order: checks, window writes and packs one after another.
 */
import type { AppendJob } from '@lowbit-kv/core';
import type { LayerMemory } from '../memory/store-memory.js';
import type { AppendContext, AppendLaunch } from '../store/append-launch.js';
import { type Moves, WRITE_WORDS, type Writes, writeWords } from '../store/moves.js';
import type { GeneralPages } from './general-pages.js';

export interface GeneralAppendOptions {
  readonly moves: Moves;
  readonly memory: LayerMemory;
  /** Undefined where a tensor stays f16. */
  readonly pages: {
    readonly key: GeneralPages | undefined;
    readonly value: GeneralPages | undefined;
  };
}

const TENSORS = ['key', 'value'] as const;

export class GeneralAppend implements AppendLaunch {
  readonly #options: GeneralAppendOptions;

  constructor(options: GeneralAppendOptions) {
    this.#options = options;
  }

  run(job: AppendJob, context: AppendContext): void {
    const { launches, session, input } = context;
    const { moves, pages } = this.#options;
    const [keys, values] = TENSORS.map((tensor) => this.#writes(tensor, job, context)) as [
      Writes,
      Writes,
    ];
    if (launches !== undefined) {
      for (const tensor of TENSORS) moves.check(launches, input[tensor], input.checks[tensor]);
      moves.write(launches, keys, values);
    }
    for (const tensor of TENSORS) {
      const { packs } = job.work[tensor];
      if (packs.length > 0 || session !== undefined)
        pages[tensor]?.pack({ ...context, step: job.step, input: input[tensor] }, packs);
    }
  }

  #writes(
    tensor: 'key' | 'value',
    { step, work }: AppendJob,
    { session, tables, input }: AppendContext,
  ): Writes {
    const memory = this.#options.memory[tensor];
    const { writes } = work[tensor];
    const { heads, headDim } = memory.plan;
    const words = () => writeWords(writes);
    // Each new token begins at most one run of slots; entries that there are not are of no rows.
    const entries = session?.options.rows ?? writes.length;
    const name = `writes of class ${memory.plan.class}`;
    let table = 0n;
    if (session !== undefined) table = session.table(name, WRITE_WORDS * entries, writes, words);
    else if (entries > 0) table = tables.of(step, writes, 'writes', words);
    return {
      table,
      entries,
      input: input[tensor].pointer,
      windows: memory.pointer('window'),
      heads,
      headDim,
    };
  }
}
