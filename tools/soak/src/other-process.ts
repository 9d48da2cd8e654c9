/**
 * Snapshots of drawn caches, restored in another process: what is there must be what was here.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { type Backend, createCache, f16Tensor, modelLayers, type Sequence } from '@lowbit-kv/core';
import { type Setup, setups } from '@lowbit-kv/core/programs';
import { createDraws, lcgNormal } from '@lowbit-kv/core/testing';
import * as fc from 'fast-check';
import { digestOf } from './digest.js';

const ROOT = fileURLToPath(new URL('../../..', import.meta.url));
const CHILD = fileURLToPath(new URL('restore-child.ts', import.meta.url));

export class OtherProcess {
  readonly #child: ChildProcess;
  readonly #lines: AsyncIterator<string>;

  constructor() {
    this.#child = spawn(
      process.execPath,
      ['--import', 'tsx', '--conditions', '@lowbit-kv/source', CHILD],
      {
        cwd: ROOT,
        stdio: ['pipe', 'pipe', 'inherit'],
        env: { ...process.env, TSX_TSCONFIG_PATH: `${ROOT}tsconfig.base.json` },
      },
    );
    const output = this.#child.stdout;
    if (output === null) throw new Error('the other process has no output');
    this.#lines = createInterface({ input: output })[Symbol.asyncIterator]();
  }

  /** Fills a drawn cache and restores it there; gives its operations. Throws where the two differ. */
  async check(backend: Backend, seed: number): Promise<number> {
    const executed = setups.filter(({ plan }) => backend.supports(plan).kind !== 'refused');
    const [setup] = fc.sample(executed, { seed, numRuns: 1 }) as [Setup];
    const { plan, rollback, tokens, sequences } = setup;
    const cache = await createCache(plan, backend, {
      capacity: { tokens, sequences },
      rollback,
      allowEmulation: true,
    });
    try {
      const held = await filled(cache, createDraws(seed), tokens, sequences);
      const snapshot = Buffer.from(await cache.snapshot(held)).toString('base64');
      this.#child.stdin?.write(`${JSON.stringify({ choice: setup.choice, snapshot })}\n`);
      const { value, done } = await this.#lines.next();
      if (done === true) throw new Error(`the other process ended; seed ${seed}`);
      if (value !== (await digestOf(cache, held)))
        throw new Error(`restored elsewhere it is another; seed ${seed}`);
      return held.length;
    } finally {
      cache.dispose();
    }
  }

  close(): void {
    this.#child.kill();
  }
}

/** Steps of some tokens, a cut and a fork, within the capacity. */
async function filled(
  cache: Awaited<ReturnType<typeof createCache>>,
  draw: () => number,
  capacity: number,
  sequences: number,
): Promise<Sequence[]> {
  const first = cache.createSequence();
  const room = Math.floor(capacity / 3);
  const grow = async (sequence: Sequence, tokens: number) => {
    const rows = (heads: number, dim: number) => {
      const shape = [tokens, heads, dim];
      return f16Tensor(lcgNormal({ seed: draw(), shape, dtype: 'f16' }), shape);
    };
    const layers = modelLayers(cache.plan).map(({ geometry }) => ({
      key: rows(geometry.kvHeads, geometry.keyHeadDim),
      value: rows(geometry.kvHeads, geometry.valueHeadDim),
    }));
    await cache.append([{ sequence, tokens }], layers);
  };
  await grow(first, 1 + (draw() % room));
  const sliding = cache.plan.layers.some(({ geometry }) => geometry.slidingWindow !== null);
  // A sliding window has evicted what a cut would make visible again.
  if (!sliding) cache.truncate(first, draw() % (first.length + 1));
  if (sequences === 1) return [first];
  const fork = cache.fork(first);
  await grow(fork, 1 + (draw() % Math.ceil(room / 2)));
  return [first, fork];
}
