/**
 * What geometry adds: shared kv heads, sliding windows, soft caps, layers that differ; and what the cache does around it:
 * many queries, abandoned steps, snapshots.
 */
import { type Geometry, LowbitKvError } from '@lowbit-kv/core';
import { describe, expect, it } from 'vitest';
import {
  asymmetric,
  bands,
  channelScaled,
  hybrid,
  type SchemeParts,
  scheme,
  symmetric,
} from './support/schemes.js';
import { createTwin, type Twin } from './support/twin.js';

const base: Geometry = {
  layers: 1,
  queryHeads: 4,
  kvHeads: 2,
  keyHeadDim: 64,
  valueHeadDim: 64,
};

const mixed: SchemeParts = {
  key: symmetric(3, 'signmag', 'channels', 32, { recent: 16, flush: 8 }),
  value: hybrid(2, 'full', 2, 'symmetric', 'tokens', 32, { recent: 8, flush: 32 }),
  sinks: 3,
};

const banded: SchemeParts = {
  key: bands('midRise', 'head', 64, { recent: 0, flush: 4 }),
  value: bands('uniform', 'allHeads', 64),
};

async function grow(twin: Twin, steps: readonly number[]): Promise<void> {
  const pair = twin.createPair();
  for (const tokens of steps) await twin.step([{ pair, tokens }]);
  await twin.compareBlocks(pair);
  await twin.attend([pair], [1]);
}

describe('geometry', () => {
  it.each([
    ['as many query heads as kv heads', { queryHeads: 3, kvHeads: 3 }],
    ['all query heads on one kv head', { queryHeads: 8, kvHeads: 1 }],
    ['three query heads to a kv head', { queryHeads: 9, kvHeads: 3 }],
    ['a scale of its own', { scale: 0.0625 }],
    ['a soft cap', { softCap: 2.5 }],
    ['a sliding window', { slidingWindow: { size: 40, sinks: 0 } }],
    ['a sliding window with sinks', { slidingWindow: { size: 33, sinks: 4 } }],
    [
      'a sliding window, sinks and a soft cap',
      { slidingWindow: { size: 48, sinks: 2 }, softCap: 10 },
    ],
  ] as const)('%s', async (_, change) => {
    for (const parts of [mixed, banded]) {
      const twin = await createTwin(scheme(parts), { ...base, ...change });
      try {
        await grow(twin, [1, 70, 1, 1, 50, 1, 9]);
      } finally {
        twin.dispose();
      }
    }
  });

  it('layers that differ', async () => {
    const geometry: Geometry = {
      ...base,
      layers: 4,
      layerOverrides: [
        { layers: [1], slidingWindow: { size: 24, sinks: 1 } },
        { layers: [2], queryHeads: 6, kvHeads: 3, keyHeadDim: 96, valueHeadDim: 32 },
        { layers: [-1], softCap: 5 },
      ],
    };
    const target = {
      ...scheme(mixed),
      overrides: [{ layers: [0], key: asymmetric(4, 'tokens', 16), value: { bits: 16 as const } }],
    };
    const twin = await createTwin(target, geometry);
    try {
      await grow(twin, [40, 1, 33, 1, 1]);
    } finally {
      twin.dispose();
    }
  });
});

describe('life of a cache', () => {
  it('splits many queries over a long cache', async () => {
    const geometry = { ...base, queryHeads: 16, kvHeads: 1 };
    const twin = await createTwin(scheme(mixed), geometry, { tokens: 1024 });
    try {
      await grow(twin, [700, 1]);
    } finally {
      twin.dispose();
    }
  });

  it('an abandoned step leaves nothing behind', async () => {
    const twin = await createTwin(scheme(banded), base);
    try {
      const pair = twin.createPair();
      await twin.step([{ pair, tokens: 50 }]);
      for (const side of ['reference', 'subject'] as const) {
        const step = twin[side].step([{ sequence: pair[side], tokens: 20 }]);
        const shape = [20, 2, 64];
        const data = new Float32Array(20 * 2 * 64).fill(side === 'subject' ? 3 : -3);
        step.append(0, { type: 'f32', shape, data }, { type: 'f32', shape, data });
        step.abandon();
      }
      await twin.attend([pair], [2]);
      await twin.step([{ pair, tokens: 3 }]);
      await twin.compareBlocks(pair);
      twin.truncate(pair, 21);
      await twin.attend([pair], [1]);
      await twin.step([{ pair, tokens: 30 }]);
      await twin.compareBlocks(pair);
    } finally {
      twin.dispose();
    }
  });

  it('snapshots go from one backend to the other', async () => {
    const parts = {
      key: channelScaled(asymmetric(4, 'tokens', 16), 24),
      value: bands('midRise', 'head'),
    };
    const twin = await createTwin(scheme(parts), base);
    try {
      const pair = twin.createPair();
      await twin.step([{ pair, tokens: 77 }]);
      const toOnnx = await twin.subject.restore(await twin.reference.snapshot([pair.reference]));
      const toReference = await twin.reference.restore(await twin.subject.snapshot([pair.subject]));
      const crossed = {
        reference: toReference[0] as (typeof pair)['reference'],
        subject: toOnnx[0] as (typeof pair)['subject'],
      };
      await twin.step([{ pair: crossed, tokens: 20 }]);
      await twin.compareBlocks(crossed);
    } finally {
      twin.dispose();
    }
  });

  it('too many outliers are refused at commit and the sequence stays as it was', async () => {
    const twin = await createTwin(
      scheme({ key: bands('midRise', 'head', 0), value: { bits: 16 } }),
      base,
    );
    try {
      const sequence = twin.subject.createSequence();
      const data = new Float32Array(2 * 64).fill(9);
      const tensor = { type: 'f32', shape: [1, 2, 64], data } as const;
      const appended = twin.subject.append(
        [{ sequence, tokens: 1 }],
        [{ key: tensor, value: tensor }],
      );
      await expect(appended).rejects.toSatisfy((error) => {
        return LowbitKvError.is(error, 'OUTLIER_CAPACITY') && error.value === 'more than 0';
      });
      expect(sequence.length).toBe(0);
    } finally {
      twin.dispose();
    }
  });
});
