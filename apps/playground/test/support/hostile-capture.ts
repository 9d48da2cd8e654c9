/** A small capture whose texts are markup. */

import { lcgNormal } from '@lowbit-kv/core/testing';
import { writeSafetensors } from '@lowbit-kv/harness';

export const HOSTILE = '<img src=x onerror=alert(1)>\u202e';

const TOKENS = 96;

export async function hostileCapture(path: string): Promise<void> {
  const tensor = (name: string, seed: number, heads: number, positions: number) => {
    const shape = [1, heads, positions, 32];
    const data = lcgNormal({ seed, shape, dtype: 'f16' });
    return { name, dtype: 'F16' as const, shape, data: new Uint8Array(data.buffer) };
  };
  await writeSafetensors(
    path,
    [
      tensor('layers.0.key', 1, 2, TOKENS),
      tensor('layers.0.value', 2, 2, TOKENS),
      tensor('layers.0.query', 3, 4, 8),
    ],
    { format: 'lowbit-kv-capture', version: '1', scale: '0.17', model: HOSTILE, text: HOSTILE },
  );
}
