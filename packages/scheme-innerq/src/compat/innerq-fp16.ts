/**
 * InnerQ schemes whose groups are computed as the authors' Python model does, in this library's windows and with keys as
 * they come: division of keys by channel factors in f16 is no group quantizer, the simulation of the repository has it.
 */
import {
  defineScheme,
  type GroupCodec,
  type QuantizedTensorScheme,
  type Scheme,
} from '@lowbit-kv/core';
import { type InnerqOptions, innerq } from '../innerq.js';
import { innerqFp16Codec } from './fp16-codec.js';

export type InnerqFp16Options = Pick<
  InnerqOptions,
  'variant' | 'keyFlush' | 'sinks' | 'recent' | 'id'
>;

/** As `innerq` with sign-and-magnitude codes and plain keys; keys are packed one by one by default. Throws OPTION_INVALID. */
export function innerqFp16(options: InnerqFp16Options): Scheme {
  const plain = innerq({
    keyFlush: 1,
    ...options,
    codes: 'signmag',
    normalizeKeys: false,
  });
  const { variant } = options;
  const keyCodec = innerqFp16Codec('symmetric', 3);
  const valueCodec = innerqFp16Codec(
    variant === 'hybrid' ? 'hybrid' : 'symmetric',
    variant === 'base' ? 3 : 2,
  );
  return defineScheme({
    ...plain,
    id: options.id ?? idOf(options),
    title: `InnerQ ${variant}, arithmetic of the authors' Python model, plain keys`,
    compat: 'innerq-fp16',
    key: encodedBy(keyCodec, plain.key as QuantizedTensorScheme),
    value: encodedBy(valueCodec, plain.value as QuantizedTensorScheme),
    codecs: variant === 'base' ? [keyCodec] : [keyCodec, valueCodec],
  });
}

function encodedBy(codec: GroupCodec, tensor: QuantizedTensorScheme): QuantizedTensorScheme {
  const { id, version, groupBytes } = codec;
  return {
    ...tensor,
    quantizer: { mode: 'codec', codes: id, version, groupBytes },
    parameters: {},
  };
}

function idOf({ variant, keyFlush = 1, sinks = 32, recent = 96 }: InnerqFp16Options): string {
  const parts = ['innerq-fp16', variant];
  if (keyFlush !== 1) parts.push(`key-flush-${keyFlush}`);
  if (sinks !== 32) parts.push(`s${sinks}`);
  if (recent !== 96) parts.push(`r${recent}`);
  return parts.join('-');
}

export const compatPresets: readonly Scheme[] = Object.freeze([
  innerqFp16({ variant: 'base' }),
  innerqFp16({ variant: 'small' }),
  innerqFp16({ variant: 'hybrid' }),
]);
