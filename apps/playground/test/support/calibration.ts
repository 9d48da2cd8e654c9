/** The calibration of a scheme that measures one, on the tokens themselves. */
import { type Calibration, decodeF16, type Scheme, schemeFingerprint } from '@lowbit-kv/core';

export async function calibrationFor(
  scheme: Scheme,
  key: Uint16Array,
  value: Uint16Array,
  [tokens, kvHeads]: readonly number[],
): Promise<Calibration | null> {
  if (scheme.calibrate === undefined) return null;
  async function* samples() {
    yield {
      ...{ layer: 0, tokens: tokens as number, kvHeads: kvHeads as number },
      ...{ key: decodeF16(key), value: decodeF16(value) },
    };
  }
  return {
    specVersion: 1,
    scheme: schemeFingerprint(scheme),
    provenance: {},
    layers: await scheme.calibrate(samples()),
  };
}
