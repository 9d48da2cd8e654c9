// Queries that do not fit into one round of attention: later rounds read theirs, and not those of the first.
import { createPlan } from '@lowbit-kv/core';
import { createTwin, F32_ATTENTION } from '@lowbit-kv/core/contract';
import { asymmetric, inlineScheme } from '@lowbit-kv/core/testing';
import { expect, it } from 'vitest';
import { webgpuBackend } from '../src/index.js';
import { roundQueries } from '../src/store/attend.js';
import { swiftShaderDevice } from './support/swiftshader.js';

const turned = { transforms: [{ kind: 'hadamard', seed: 7 } as const] };

it('attends queries of several rounds', { timeout: 120_000 }, async () => {
  const plan = createPlan(
    inlineScheme({
      key: { ...asymmetric(4, 'channels', 64), ...turned },
      value: { ...asymmetric(4, 'channels', 64), ...turned },
    }),
    // Long rows: a round is full after few of them.
    { layers: 1, queryHeads: 1024, kvHeads: 2, keyHeadDim: 256, valueHeadDim: 256 },
  );
  const device = await swiftShaderDevice();
  const twin = await createTwin(plan, webgpuBackend({ device }), {
    tokens: 160,
    sequences: 2,
    tolerances: F32_ATTENTION,
  });
  try {
    const [first, second] = [twin.createPair(), twin.createPair()];
    // Two rounds: the last queries of the first sequence come with those of the second.
    expect(roundQueries(1024, 4 + 2 * 256)).toBeLessThan(8);
    await twin.step([
      { pair: first, tokens: 8 },
      { pair: second, tokens: 4 },
    ]);
  } finally {
    twin.dispose();
    device.destroy();
  }
});
