/**
 * KIVI schemes that compute as the authors' code does: the same groups and windows, codes and parameters of the codec.
 */
import { defineScheme, type QuantizedTensorScheme, type Scheme } from '@lowbit-kv/core';
import { type KiviOptions, kivi } from '../kivi.js';
import { kiviFp16Codec } from './fp16-codec.js';

/** As `kivi`, with codec groups. Throws OPTION_INVALID and SCHEME_INVALID as `kivi` does. */
export function kiviFp16(options: KiviOptions): Scheme {
  const plain = kivi(options);
  const codec = kiviFp16Codec(options.bits, options.groupSize ?? 32);
  const encoded = (tensor: QuantizedTensorScheme): QuantizedTensorScheme => ({
    ...tensor,
    quantizer: {
      mode: 'codec',
      codes: codec.id,
      version: codec.version,
      groupBytes: codec.groupBytes,
    },
    parameters: {},
  });
  return defineScheme({
    ...plain,
    id: options.id ?? plain.id.replace('kivi', 'kivi-fp16'),
    title: `${plain.title}, arithmetic of the authors' code`,
    compat: 'kivi-fp16',
    key: encoded(plain.key as QuantizedTensorScheme),
    value: encoded(plain.value as QuantizedTensorScheme),
    codecs: [codec],
  });
}

/** Both widths, groups of 32 and 64, residuals of 128 (README) and 32 (the authors' example; groups of 32 only). */
export const compatPresets: readonly Scheme[] = Object.freeze([
  kiviFp16({ bits: 2 }),
  kiviFp16({ bits: 4 }),
  kiviFp16({ bits: 2, groupSize: 64 }),
  kiviFp16({ bits: 4, groupSize: 64 }),
  kiviFp16({ bits: 2, residualLength: 32 }),
  kiviFp16({ bits: 4, residualLength: 32 }),
]);
