/**
 * The ternary scheme: 1.58 bits of information per value, 1.8 stored for keys and 1.875 for values.
 */
import {
  defineScheme,
  type GroupCodec,
  type GroupScheme,
  type QuantizedTensorScheme,
} from '@lowbit-kv/core';
import { ternaryCodec } from './ternary-codec.js';

export { LARGEST_GROUP, ternaryCodec, ternaryGroupBytes } from './ternary-codec.js';

/** Keys: one channel, 80 tokens (16 bytes of digits). Values: one token, 64 channels of a head (13 bytes). */
const keys = ternaryCodec(80);
const values = ternaryCodec(64);

export const ternary = defineScheme({
  specVersion: 1,
  id: 'ternary',
  title: 'Ternary values, five to a byte, g 80 keys and g 64 values',
  sinks: 16,
  packing: 'before-attention',
  key: tensorOf(keys, { along: 'tokens', size: 80 }, { recent: 32, flush: 80 }),
  value: tensorOf(values, { along: 'channels', size: 64 }, { recent: 32, flush: 1 }),
  calibration: { kind: 'none' },
  codecs: [keys, values],
});

export default ternary;

function tensorOf(
  { id, version, groupBytes }: GroupCodec,
  groups: GroupScheme,
  window: QuantizedTensorScheme['window'],
): QuantizedTensorScheme {
  return {
    // The next whole width: what readers are told. The bytes of a group say what is stored.
    bits: 2,
    groups,
    quantizer: { mode: 'codec', codes: id, version, groupBytes },
    parameters: {},
    window,
  };
}
