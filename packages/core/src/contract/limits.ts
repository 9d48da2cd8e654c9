/**
 * Contexts at the limits of what a backend meets: one token, whole blocks, many sequences, many layers, nothing at all.
 */
import type { Backend } from '../backend.js';
import { createPlan, type Plan } from '../plan/plan.js';
import { asymmetric, inlineScheme, symmetric } from '../testing/inline-schemes.js';
import { type ContractCheck, check } from './check.js';
import { createTwin, type Twin, type TwinOptions } from './twin.js';

const BLOCK = 64;
/** Sequences of the largest batch, and layers of the deepest model. */
const BATCH = 4096;
const LAYERS = 200;

function planOf(layers: number, headDim: number): Plan {
  return createPlan(
    inlineScheme({
      key: asymmetric(4, 'tokens', 32),
      value: symmetric(3, 'full', 'channels', 32),
      packing: 'after-attention',
    }),
    { layers, queryHeads: 2, kvHeads: 1, keyHeadDim: headDim, valueHeadDim: headDim },
    { blockTokens: BLOCK },
  );
}

/** Each opens a twin of its own, of the size that it needs. */
export function limitChecks(backend: Backend, options: TwinOptions): ContractCheck[] {
  const onPlan = (
    name: string,
    plan: Plan,
    size: { readonly tokens: number; readonly sequences: number },
    run: (twin: Twin) => Promise<void>,
  ): ContractCheck => {
    const support = backend.supports(plan);
    const reasons = support.kind === 'refused' ? support.reasons : [];
    return check(
      `limits: ${name}`,
      async () => {
        const twin = await createTwin(plan, backend, { ...options, ...size });
        try {
          await run(twin);
        } finally {
          twin.dispose();
        }
      },
      reasons,
    );
  };
  const few = { tokens: 256, sequences: 3 };
  return [
    ...[64, 256].map((headDim) =>
      onPlan(
        `one token, a block, a block and one of head dim ${headDim}`,
        planOf(1, headDim),
        few,
        blocks,
      ),
    ),
    onPlan('sequences that are all empty', planOf(1, 32), few, empty),
    onPlan(
      `${BATCH} sequences in a step`,
      planOf(1, 32),
      { tokens: 2, sequences: BATCH },
      wideBatch,
    ),
    onPlan(`${LAYERS} layers`, planOf(LAYERS, 32), { tokens: 128, sequences: 1 }, manyLayers),
  ];
}

async function blocks(twin: Twin): Promise<void> {
  const pairs = [1, BLOCK, BLOCK + 1].map((tokens) => ({ pair: twin.createPair(), tokens }));
  await twin.step(pairs);
  for (const { pair, tokens } of pairs) {
    await twin.attend([pair], [tokens]);
    await twin.compareBlocks(pair);
  }
  await twin.step(pairs.map(({ pair }) => ({ pair, tokens: 1 })));
  for (const { pair } of pairs) await twin.compareBlocks(pair);
}

async function empty(twin: Twin): Promise<void> {
  const pairs = [twin.createPair(), twin.createPair()];
  await twin.attend(pairs, [1, 1]);
  await twin.attend(pairs, [0, 0]);
  await twin.attend([], []);
  await twin.step(pairs.map((pair) => ({ pair, tokens: 0 })));
  await twin.step([]);
  for (const pair of pairs) await twin.compareBlocks(await twin.crossed(pair));
}

async function wideBatch(twin: Twin): Promise<void> {
  const pairs = Array.from({ length: BATCH }, () => twin.createPair());
  await twin.step(pairs.map((pair) => ({ pair, tokens: 1 })));
  await twin.attend(
    pairs,
    pairs.map(() => 1),
  );
}

async function manyLayers(twin: Twin): Promise<void> {
  const pair = twin.createPair();
  await twin.grow(pair, 40);
  await twin.step([{ pair, tokens: 1 }]);
  await twin.compareBlocks(pair);
}
