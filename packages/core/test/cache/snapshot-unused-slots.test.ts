// A snapshot holds what its sequences hold, and nothing of what the pages held before.
import { expect, it } from 'vitest';
import { createCache, createPlan, f16Tensor, referenceBackend } from '../../src/index.js';

const SENTINEL = 0x4321;

it('clears slots of f16 pages that no sequence of the snapshot uses', async () => {
  const plan = createPlan(
    {
      specVersion: 1,
      id: 'plain',
      title: 'f16',
      sinks: 0,
      packing: 'before-attention',
      key: { bits: 16 },
      value: { bits: 16 },
      calibration: { kind: 'none' },
    },
    { layers: 1, queryHeads: 2, kvHeads: 2, keyHeadDim: 4, valueHeadDim: 4 },
  );
  const cache = await createCache(plan, referenceBackend(), { capacity: { tokens: 64 } });
  const tokens = (count: number, bits: number) => {
    const tensor = f16Tensor(new Uint16Array(count * 8).fill(bits), [count, 2, 4]);
    return [{ key: tensor, value: tensor }];
  };
  const secret = cache.createSequence();
  await cache.append([{ sequence: secret, tokens: 32 }], tokens(32, SENTINEL));
  cache.disposeSequence(secret);
  const sequence = cache.createSequence();
  await cache.append([{ sequence, tokens: 3 }], tokens(3, 0x3c00));
  const bytes = await cache.snapshot([sequence]);

  const payload = new Uint16Array(bytes.slice(12 + headerLength(bytes), -32).buffer);
  expect(payload.filter((bits) => bits === SENTINEL).length).toBe(0);
  // Three tokens of two heads of four channels, keys and values.
  expect(payload.filter((bits) => bits === 0x3c00).length).toBe(48);
  expect(payload.length).toBe(2 * 2 * 32 * 4);
  const [restored] = await cache.restore(bytes);
  expect(restored?.length).toBe(3);
});

function headerLength(bytes: Uint8Array): number {
  return new DataView(bytes.buffer, bytes.byteOffset).getUint32(8, true);
}
