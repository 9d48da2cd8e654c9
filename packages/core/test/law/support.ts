/**
 * Plans, data and readers that the tests of the law share.
 */
import type { GroupCodec } from '../../src/codec.js';
import { decodeF16, encodeF16 } from '../../src/float16.js';
import type { PackedTensorPlan } from '../../src/law/encode.js';
import { readNumber } from '../../src/law/page-bytes.js';
import { PARAMETER_BYTES, type ParameterName } from '../../src/plan/layout.js';
import { createPlan, schemeFingerprint } from '../../src/plan/plan.js';
import type { QuantizedTensorScheme, Quantizer, Scheme } from '../../src/scheme.js';
import { createDraws } from '../../src/testing/index.js';

export interface Thresholds {
  readonly outerLow: number;
  readonly outerHigh: number;
  readonly innerLow: number;
  readonly innerHigh: number;
}

/** A scheme that stores keys as told and values in f16. */
export function schemeOf(key: QuantizedTensorScheme, codecs?: readonly GroupCodec[]): Scheme {
  const statistics = (key.transforms ?? []).some((step) => 'statisticsTokens' in step);
  return {
    specVersion: 1,
    id: 'law-test',
    title: 'Law test',
    sinks: 0,
    packing: 'after-attention',
    key,
    value: { bits: 16 },
    calibration:
      key.outliers?.kind === 'bands'
        ? { kind: 'offline', values: ['thresholds'] }
        : { kind: statistics ? 'prefill' : 'none' },
    ...(codecs === undefined ? {} : { codecs }),
  };
}

/** The plan of one packed key tensor. */
export function planOf(
  key: QuantizedTensorScheme,
  shape: {
    heads: number;
    headDim: number;
    blockTokens: number;
    thresholds?: Thresholds;
    codecs?: readonly GroupCodec[];
  },
): PackedTensorPlan {
  const scheme = schemeOf(key, shape.codecs);
  const plan = createPlan(
    scheme,
    {
      layers: 1,
      queryHeads: shape.heads,
      kvHeads: shape.heads,
      keyHeadDim: shape.headDim,
      valueHeadDim: shape.headDim,
    },
    {
      blockTokens: shape.blockTokens,
      ...(shape.thresholds === undefined
        ? {}
        : {
            calibration: {
              specVersion: 1,
              scheme: schemeFingerprint(scheme),
              provenance: {},
              layers: [{ key: { thresholds: shape.thresholds } }],
            },
          }),
    },
  );
  return plan.layers[0]!.key as PackedTensorPlan;
}

/** A tensor scheme with groups along one axis; `flush` is one group along tokens, else one token. */
export function groupScheme(
  bits: QuantizedTensorScheme['bits'],
  along: 'tokens' | 'channels',
  size: number,
  quantizer: Quantizer,
  parameters: QuantizedTensorScheme['parameters'] = f16Parameters(quantizer),
): QuantizedTensorScheme {
  return {
    bits,
    groups: { along, size },
    quantizer,
    parameters,
    window: { recent: 0, flush: along === 'tokens' ? size : 1 },
  };
}

/** The parameters that groups of this quantizer store, all in f16. */
export function f16Parameters({ mode, codes }: Quantizer): QuantizedTensorScheme['parameters'] {
  if (typeof codes === 'object' && codes.scaledBy === 'none') return {};
  return mode === 'symmetric' ? { scale: 'f16' } : { scale: 'f16', zero: 'f16' };
}

/** A tensor scheme with outlier bands. */
export function bandScheme(
  middle: 'midRise' | 'uniform',
  scope: 'head' | 'allHeads',
  reserve = 64,
): QuantizedTensorScheme {
  return {
    bits: 4,
    groups: { along: 'vector', scope },
    quantizer:
      middle === 'midRise'
        ? { mode: 'symmetric', codes: 'midRise' }
        : { mode: 'asymmetric', codes: 'uniform' },
    parameters: middle === 'midRise' ? { scale: 'f16' } : { scale: 'f16', zero: 'f16' },
    window: { recent: 0, flush: 1 },
    outliers: {
      kind: 'bands',
      shares: { outer: 0.04, middle: 0.9, inner: 0.06 },
      groupShift: true,
      outlierBits: 5,
      storage: { format: 'coo64', reserve },
    },
  };
}

/** f16 bits of close-to-normal data whose mean and spread depend on `key(i)`: a wrong head or channel shows. */
export function normalBits(
  count: number,
  seed: number,
  place: (i: number) => { mean: number; spread: number } = () => ({ mean: 0, spread: 1 }),
): Uint16Array {
  const draw = createDraws(seed);
  const values = new Float32Array(count);
  for (let i = 0; i < count; i++) {
    let sum = 0;
    for (let n = 0; n < 12; n++) sum += draw();
    const { mean, spread } = place(i);
    values[i] = (sum / 4096 - 6) * spread + mean;
  }
  return encodeF16(values);
}

/** f32 values of one head of `[tokens, heads, headDim]` f16 bits, as `[tokens, headDim]`. */
export function headValues(
  tokens: Uint16Array,
  heads: number,
  headDim: number,
  head: number,
): Float32Array {
  const count = tokens.length / (heads * headDim);
  const values = new Float32Array(count * headDim);
  const all = decodeF16(tokens);
  for (let token = 0; token < count; token++) {
    const from = (token * heads + head) * headDim;
    values.set(all.subarray(from, from + headDim), token * headDim);
  }
  return values;
}

/** `[rows, columns]` to `[columns, rows]`. */
export function transpose(values: Float32Array, rows: number, columns: number): Float32Array {
  const result = new Float32Array(values.length);
  for (let r = 0; r < rows; r++)
    for (let c = 0; c < columns; c++) result[c * rows + r] = values[r * columns + c]!;
  return result;
}

/** Bits of one stored parameter of a head block (or of the shared plane). */
export function readParameter(
  plan: PackedTensorPlan,
  page: Uint8Array,
  head: number,
  name: ParameterName,
  index: number,
): number {
  const { layout } = plan;
  const plane = layout.parameters.find((candidate) => candidate.name === name)!;
  const base = layout.parametersShared ? layout.heads * layout.headBytes : head * layout.headBytes;
  const bytes = PARAMETER_BYTES[plane.type];
  return readNumber(page, base + plane.offset + bytes * index, bytes);
}

/** f16 bits of a hexadecimal string. */
export const hex = (text: string): number => Number.parseInt(text, 16);
