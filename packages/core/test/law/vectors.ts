/**
 * Reads the vector files of fixtures.
 */
import { readFileSync } from 'node:fs';
import type { RotaryEmbedding } from '../../src/geometry.js';
import type { BandThresholds } from '../../src/law/bands.js';
import type {
  QuantizedTensorScheme,
  Quantizer,
  TensorCalibration,
  Transform,
} from '../../src/scheme.js';
import { hex } from './support.js';

function read(name: string): unknown {
  return JSON.parse(readFileSync(new URL(`../../../../fixtures/${name}`, import.meta.url), 'utf8'));
}

interface GroupVector {
  readonly name: string;
  readonly bits: 1 | 2 | 3 | 4 | 8;
  readonly x: readonly string[];
  readonly scale: string;
  readonly q: readonly number[];
  readonly packed: string;
  readonly decoded: readonly string[];
}

/** fixtures/law-vectors.json, made by fixtures/make-law-vectors.py. */
export const lawVectors = read('law-vectors.json') as {
  readonly symmetric: readonly (GroupVector & { codes: 'full' | 'fullSigned' | 'signmag' })[];
  readonly asymmetric: readonly (GroupVector & { zero: string })[];
  readonly hybrid: readonly (GroupVector & {
    zero: string;
    codes: 'full' | 'signmag';
    asymmetricBits: number;
    tie: 'symmetric' | 'asymmetric';
    asymmetric: boolean;
  })[];
  readonly levels: readonly (GroupVector & {
    table: string;
    levels: readonly number[];
    scaledBy: 'absoluteMaximum' | 'rootMeanSquare';
  })[];
  readonly tables: Readonly<Record<string, readonly number[]>>;
  /** Parameters of any type; numbers are bits, null where there is no such parameter; `levels` names a table. */
  readonly types: readonly (Omit<GroupVector, 'scale'> & {
    quantizer: Quantizer | { mode: string; codes: { levels: string; scaledBy: string } };
    parameters: QuantizedTensorScheme['parameters'];
    scale: number | null;
    zero: number | null;
  })[];
  /** Whole pages with top outliers: rows of codes, and scale and zero of their groups one row after another. */
  readonly top: readonly {
    name: string;
    along: 'tokens' | 'channels';
    size: number;
    count: number;
    bits: 2 | 3 | 4;
    quantizer: (typeof lawVectors.types)[number]['quantizer'];
    parameters: QuantizedTensorScheme['parameters'];
    tokens: readonly (readonly string[])[];
    channels: readonly (readonly number[])[];
    packed: readonly string[];
    groups: readonly (readonly [number | null, number | null])[];
    decoded: readonly (readonly string[])[];
  }[];
  readonly bands: readonly {
    name: string;
    middle: 'midRise' | 'uniform';
    thresholds: BandThresholds;
    x: readonly string[];
    nibbles: readonly number[];
    outliers: readonly (readonly number[])[];
    parameters: Readonly<Record<string, string>>;
    decoded: readonly string[];
  }[];
  readonly rotationSigns: readonly { seed: number; signs: readonly number[] }[];
  readonly tensorScale: readonly { largest: number; maximum: string; reciprocal: string }[];
  readonly rotary: readonly (RotaryEmbedding & {
    position: number;
    key: readonly number[];
    rotated: readonly number[];
  })[];
  readonly transforms: readonly {
    name: string;
    headDim: number;
    chain: readonly Transform[];
    calibration: TensorCalibration;
    tokens: readonly (readonly string[])[];
    statistics: readonly (readonly string[])[];
    transformed: readonly (readonly string[])[];
  }[];
  readonly channelScale: readonly {
    name: string;
    clamp: readonly [number, number];
    minimumSpread: number;
    tokens: readonly (readonly string[])[];
    reciprocals: readonly string[];
  }[];
};

/** The quantizer of a row of `types` or `top` with the levels that it names. */
export function typedQuantizer({
  quantizer,
}: Pick<(typeof lawVectors.types)[number], 'quantizer'>): Quantizer {
  if (typeof quantizer.codes === 'string') return quantizer as Quantizer;
  const levels = lawVectors.tables[quantizer.codes.levels as string];
  return { ...quantizer, codes: { ...quantizer.codes, levels } } as Quantizer;
}

interface OakenVector {
  readonly t_o: readonly [number, number];
  readonly t_i: readonly [number, number];
  readonly x: readonly number[];
  readonly nibbles: readonly number[];
  readonly coo: readonly string[];
  readonly params: Readonly<Record<'mid' | 'out' | 'inn', readonly number[]>>;
  readonly decoded: readonly number[];
}

interface AffineVector {
  readonly x: readonly string[];
  readonly codes: readonly number[];
  readonly scale: readonly string[];
  readonly min: readonly string[];
  readonly words: readonly string[];
  readonly dequant: readonly number[];
}

interface HybridVector {
  readonly x: readonly number[];
  readonly asym: boolean;
  readonly dequant: readonly number[];
}

/** fixtures/spec-vectors.json: the rows this package implements. */
export const specVectors = read('spec-vectors.json') as {
  readonly affine_b2_g32: AffineVector;
  readonly affine_b4_g32: AffineVector;
  readonly affine_constant: { x: string[]; codes: number[]; scale: string; min: string };
  readonly affine_ties_b2: { x: string[]; half_even: number[] };
  readonly innerq_sym3_signmag_g32: {
    x: string[];
    scale_f16: string[];
    q: number[];
    twos_complement_words: string[];
  };
  readonly innerq_hybrid2_positive_python: HybridVector;
  readonly innerq_hybrid2_positive_cuda: HybridVector;
  readonly innerq_hybrid2_zero_mean_python: HybridVector;
  readonly innerq_hybrid2_zero_mean_cuda: HybridVector;
  readonly oaken_mm: OakenVector;
  readonly oaken_sm: OakenVector;
};

/** f16 bits of a list of hexadecimal strings. */
export const bitsOf = (texts: readonly string[]) => Uint16Array.from(texts, hex);

/** f32 values of a list of hexadecimal bit patterns. */
export const floatsOf = (texts: readonly string[]) =>
  new Float32Array(Uint32Array.from(texts, hex).buffer);

/** Little-endian bytes of 32-bit words. */
export const bytesOfWords = (words: readonly string[]) =>
  new Uint8Array(Uint32Array.from(words, hex).buffer);

export const bytesOfHex = (text: string) =>
  Uint8Array.from(text.match(/../g) ?? [], (byte) => hex(byte));
