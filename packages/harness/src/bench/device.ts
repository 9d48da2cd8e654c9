/**
 * What a benchmark asks of what it times: memory for its inputs, a clock, and a copy to compare with. Those of GPUs are made
 * where their backends are known.
 */
import type { AttentionResult, Backend, Tensor } from '@lowbit-kv/core';

/** Memory that a backend takes tensors in. */
export interface BenchMemory {
  /** Consecutive elements from `offset` on. */
  tensor(shape: readonly number[], offset?: number): Tensor;
  dispose(): void;
}

export interface BenchFacts {
  readonly device: string;
  readonly driver: string | null;
  /** Of now, in words. */
  readonly clocks: string | null;
}

export interface RepeatOptions {
  /** Layers, which are met in turn. */
  readonly layers: number;
  readonly samples: number;
  readonly warmUpMilliseconds: number;
  readonly signal: AbortSignal | undefined;
}

export interface BenchDevice {
  readonly backend: Backend;
  readonly clock: 'host' | 'gpu';
  readonly lastLevelCacheBytes: number | null;
  /** Layers of a decode step that appends: as a model has, where work of layers overlaps; fewer where it does not. */
  readonly stepLayers: number;
  /** Asked before the first measurement and after the last. */
  facts(): Promise<BenchFacts>;
  /** f16 values. */
  upload(values: Uint16Array): BenchMemory;
  /** f32, for outputs; null where results come in memory of their own. */
  allocate(elements: number): BenchMemory | null;
  /** Microseconds of each of some copies of so many bytes, or of what the device takes at once: says which. */
  copy(bytes: number, samples: number): Promise<{ bytes: number; microseconds: number[] }>;
  /** Microseconds of what `work` enqueues. `settle` ends the step it belongs to, outside of a clock of the device. */
  once(work: () => void, settle: () => Promise<void>): Promise<number>;
  /** Microseconds of one `attend`, a number per sample. Warm-up and the first attend of each layer do not count. */
  repeat(attend: (layer: number) => AttentionResult, options: RepeatOptions): Promise<number[]>;
}

/** A sample takes about so long, so that clocks are read finely enough. */
const SAMPLE_MICROSECONDS = 1500;
const MOST_REPEATS = 64;

/** Attends of one sample, when one takes so many microseconds. */
export function repeatsOf(microseconds: number): number {
  return Math.min(MOST_REPEATS, Math.max(1, Math.ceil(SAMPLE_MICROSECONDS / microseconds)));
}
