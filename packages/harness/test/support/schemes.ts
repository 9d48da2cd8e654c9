/** Small schemes for tests, built inline: the harness knows no scheme package. */
import { defineScheme, type Scheme, type TensorScheme } from '@lowbit-kv/core';

export function affine(
  bits: 2 | 4 | 8,
  along: 'tokens' | 'channels',
  size: number,
  window: { recent: number; flush: number },
): TensorScheme {
  return {
    bits,
    groups: { along, size },
    quantizer: { mode: 'asymmetric', codes: 'uniform' },
    parameters: { scale: 'f16', zero: 'f16' },
    window,
  };
}

export function scheme(
  id: string,
  key: TensorScheme,
  value: TensorScheme,
  more: Partial<Scheme> = {},
): Scheme {
  return defineScheme({
    specVersion: 1,
    id,
    title: id,
    sinks: 0,
    packing: 'after-attention',
    key,
    value,
    calibration: { kind: 'none' },
    ...more,
  });
}

/** Keys along tokens, values along channels, as KIVI has them; windows short enough for small captures. */
export function channelwise(id: string, bits: 2 | 4 | 8, more: Partial<Scheme> = {}): Scheme {
  return scheme(
    id,
    affine(bits, 'tokens', 32, { recent: 0, flush: 32 }),
    affine(bits, 'channels', 32, { recent: 16, flush: 1 }),
    more,
  );
}
