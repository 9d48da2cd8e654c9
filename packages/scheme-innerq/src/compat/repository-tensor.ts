/**
 * Keys or values of one layer in the cache of the InnerQ repository: sinks taken from the first call only, a recent part
 * that gives up one flush a call, groups decoded as its attention reads them.
 */
import { f16ToF32, roundToF16, type SimulatedCounts } from '@lowbit-kv/core';
import {
  type AsymmetricGroup,
  decodeAsymmetric,
  decodeHybrid,
  decodeSymmetric,
  type HybridGroup,
  quantizeAsymmetric,
  quantizeHybrid,
  quantizeSymmetric,
  type SymmetricGroup,
} from './fp16-group.js';

export interface RepositoryTensorSettings {
  readonly mode: 'symmetric' | 'asymmetric' | 'hybrid';
  readonly bits: number;
  readonly along: 'tokens' | 'channels';
  /** Tokens that leave the recent part in a call; a multiple of the group size along tokens. */
  readonly flush: number;
}

/** Elements of a group in the repository's scripts. */
export const GROUP_SIZE = 32;

export type RepositoryGroup = SymmetricGroup | AsymmetricGroup | HybridGroup;

export class RepositoryTensor {
  /** Per head, in the order of the scales of the repository: `[token, group]`, or `[group, channel]` along tokens. */
  readonly groups: RepositoryGroup[][];
  /** `[heads, headDim]`; null until the first tokens are quantized, and when nothing is normalized. */
  factors: Float32Array | null = null;
  readonly #settings: RepositoryTensorSettings;
  readonly #windows: { readonly sinks: number; readonly recent: number };
  readonly #normalize: boolean;
  readonly #heads: number;
  readonly #headDim: number;
  /** What attention reads, `[tokens, heads, headDim]`, with room to grow. */
  #values = new Float32Array(0);
  #sinks = 0;
  #quantized = 0;
  #recent = 0;

  constructor(
    settings: RepositoryTensorSettings,
    windows: { readonly sinks: number; readonly recent: number },
    normalize: boolean,
    heads: number,
    headDim: number,
  ) {
    this.#settings = settings;
    this.#windows = windows;
    this.#normalize = normalize;
    this.#heads = heads;
    this.#headDim = headDim;
    this.groups = Array.from({ length: heads }, () => []);
  }

  get counts(): SimulatedCounts {
    return { sinks: this.#sinks, quantized: this.#quantized, recent: this.#recent };
  }

  get values(): Float32Array {
    return this.#values.slice(0, this.#length * this.#width);
  }

  /** One call of the cache with f16 bits `[tokens, heads, headDim]`. */
  append(bits: Uint16Array): void {
    const tokens = bits.length / this.#width;
    const first = this.#length === 0;
    this.#store(bits);
    if (first) this.#takePrompt(tokens);
    else {
      this.#recent += tokens;
      if (this.#recent >= this.#settings.flush) this.#quantize(this.#settings.flush);
    }
  }

  get #length(): number {
    return this.#sinks + this.#quantized + this.#recent;
  }

  get #width(): number {
    return this.#heads * this.#headDim;
  }

  #store(bits: Uint16Array): void {
    const start = this.#length * this.#width;
    const end = start + bits.length;
    if (end > this.#values.length) {
      const grown = new Float32Array(Math.max(end, 2 * this.#values.length));
      grown.set(this.#values);
      this.#values = grown;
    }
    this.#values.set(Float32Array.from(bits, f16ToF32), start);
  }

  /** Sinks, then as many recent tokens as there may be; along tokens fewer, so that the rest is whole groups. */
  #takePrompt(tokens: number): void {
    this.#sinks = Math.min(this.#windows.sinks, tokens);
    this.#recent = tokens - this.#sinks;
    const { along, flush } = this.#settings;
    const excess = this.#recent - Math.min(this.#windows.recent, this.#recent);
    const unit = along === 'tokens' ? flush : 1;
    const quantized = Math.min(Math.ceil(excess / unit) * unit, this.#recent);
    if (quantized > 0) this.#quantize(quantized);
  }

  /** Moves the oldest recent tokens into groups. */
  #quantize(tokens: number): void {
    const first = this.#sinks + this.#quantized;
    if (this.#normalize) this.factors ??= this.#measureFactors(first, tokens);
    this.#quantized += tokens;
    this.#recent -= tokens;
    const alongTokens = this.#settings.along === 'tokens';
    const [groupTokens, groupChannels] = alongTokens ? [GROUP_SIZE, 1] : [1, GROUP_SIZE];
    for (let head = 0; head < this.#heads; head++) {
      for (let token = first; token < first + tokens; token += groupTokens) {
        for (let channel = 0; channel < this.#headDim; channel += groupChannels)
          this.#quantizeGroup(head, token, channel);
      }
    }
  }

  #quantizeGroup(head: number, token: number, channel: number): void {
    const alongTokens = this.#settings.along === 'tokens';
    const start = (token * this.#heads + head) * this.#headDim + channel;
    const stride = alongTokens ? this.#width : 1;
    const factor = (i: number) =>
      this.factors?.[head * this.#headDim + channel + (alongTokens ? 0 : i)] ?? 1;
    const values = Float32Array.from({ length: GROUP_SIZE }, (_, i) => {
      const value = this.#values[start + i * stride] as number;
      return this.factors === null ? value : roundToF16(value / factor(i));
    });
    const { group, decoded } = quantizeAndDecode(this.#settings, values);
    (this.groups[head] as RepositoryGroup[]).push(group);
    for (const [i, value] of decoded.entries())
      this.#values[start + i * stride] = roundToF16(Math.fround(value * factor(i)));
  }

  /** n = sqrt(max|x|) of each channel over the tokens quantized first, in f16; 0 for a channel of zeros. */
  #measureFactors(first: number, tokens: number): Float32Array {
    const factors = new Float32Array(this.#width);
    for (let token = first; token < first + tokens; token++) {
      for (let i = 0; i < this.#width; i++) {
        const magnitude = Math.abs(this.#values[token * this.#width + i] as number);
        factors[i] = Math.max(factors[i] as number, magnitude);
      }
    }
    return factors.map((magnitude) => roundToF16(Math.fround(Math.sqrt(magnitude))));
  }
}

function quantizeAndDecode(
  { mode, bits }: RepositoryTensorSettings,
  values: Float32Array,
): { group: RepositoryGroup; decoded: Float32Array } {
  if (mode === 'symmetric') {
    const group = quantizeSymmetric(values, bits);
    return { group, decoded: decodeSymmetric(group) };
  }
  if (mode === 'asymmetric') {
    const group = quantizeAsymmetric(values, bits);
    return { group, decoded: decodeAsymmetric(group) };
  }
  const group = quantizeHybrid(values, bits);
  return { group, decoded: decodeHybrid(group) };
}
