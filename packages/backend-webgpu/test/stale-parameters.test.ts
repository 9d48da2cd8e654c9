// Parameters that an earlier sequence left in a page say nothing about one that has filled it in part.
import {
  createCache,
  createPlan,
  f16Tensor,
  f32Tensor,
  f32ToF16,
  referenceBackend,
} from '@lowbit-kv/core';
import { asymmetric, inlineScheme, lcgNormal } from '@lowbit-kv/core/testing';
import { afterAll, expect, it } from 'vitest';
import { webgpuBackend } from '../src/index.js';
import { type SwitchedFault, SwitchedFaults } from './support/switched-faults.js';

const DIM = 128;
const PAGE = 128;
/** One group of keys; three of the page are the earlier sequence's. */
const TOKENS = 40;
/** Of the earlier keys: their scales would leave no bits for those of the later ones. */
const LOUD = 4000;

const plan = createPlan(
  inlineScheme({ key: asymmetric(4, 'tokens', 32), value: asymmetric(4, 'channels', 32) }),
  { layers: 1, queryHeads: 4, kvHeads: 1, keyHeadDim: DIM, valueHeadDim: DIM },
  { blockTokens: PAGE },
);

function tokensOf(seed: number, tokens: number, factor: number) {
  const shape = [tokens, 1, DIM];
  const values = lcgNormal({ seed, shape, dtype: 'f32' }) as Float32Array;
  return f16Tensor(
    Uint16Array.from(values, (value) => f32ToF16(value * factor)),
    shape,
  );
}

async function outputOf(device: GPUDevice | null): Promise<Float32Array> {
  const wgslLanguageFeatures = new Set(['packed_4x8_integer_dot_product']);
  const backend =
    device === null ? referenceBackend() : webgpuBackend({ device, wgslLanguageFeatures });
  // One page, which both sequences have in turn.
  const cache = await createCache(plan, backend, { capacity: { tokens: PAGE, sequences: 1 } });
  const loud = cache.createSequence();
  await cache.append(
    [{ sequence: loud, tokens: PAGE }],
    [{ key: tokensOf(1, PAGE, LOUD), value: tokensOf(2, PAGE, 1) }],
  );
  cache.disposeSequence(loud);
  const sequence = cache.createSequence();
  await cache.append(
    [{ sequence, tokens: TOKENS }],
    [{ key: tokensOf(3, TOKENS, 1), value: tokensOf(4, TOKENS, 1) }],
  );
  const step = cache.step([{ sequence, tokens: 1 }]);
  step.append(0, tokensOf(6, 1, 1), tokensOf(7, 1, 1));
  const shape = [1, 4, DIM];
  const query = f32Tensor(lcgNormal({ seed: 5, shape, dtype: 'f32' }) as Float32Array, shape);
  const { output } = await step.attend(0, query).read();
  await step.commit();
  cache.dispose();
  return output.data as Float32Array;
}

async function compare(device: GPUDevice): Promise<void> {
  const [expected, actual] = [await outputOf(null), await outputOf(device)];
  let [error, energy] = [0, 0];
  for (const [i, value] of expected.entries()) {
    error += (value - (actual[i] as number)) ** 2;
    energy += value ** 2;
  }
  if (!(error / energy < 1e-6)) throw new Error(`nmse ${error / energy}`);
}

const FAULTS = {
  'parameters of all groups': {
    kernel: 'attend',
    from: 'holdsGroup(slots, group, KEY_SETS)',
    to: 'true',
  },
} satisfies Record<string, SwitchedFault>;

const faults = await SwitchedFaults.open(FAULTS);
afterAll(() => faults.device.destroy());

it('meets one group in a page of another sequence', { timeout: 120_000 }, async () => {
  expect(await faults.outcome(null, compare)).toBe('passed');
});

it('does not with the parameters of all groups', { timeout: 120_000 }, async () => {
  expect(await faults.outcome('parameters of all groups', compare)).toContain('nmse');
});
