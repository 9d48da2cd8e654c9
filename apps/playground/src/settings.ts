/** What a visitor has chosen: everything that a link to the page carries. */
import type { SyntheticRecipe } from './data/synthetic.js';

export type TensorName = 'key' | 'value';

export interface Settings {
  readonly data: 'shipped' | 'synthetic' | 'file';
  readonly synthetic: SyntheticRecipe;
  /** Number of the layer in the model. */
  readonly layer: number;
  readonly kvHead: number;
  /** Ids of presets, or `CUSTOM`; two or three. */
  readonly schemes: readonly string[];
  /** JSON text of the visitor's own scheme. */
  readonly custom: string;
  readonly tensor: TensorName;
  readonly token: number;
  readonly channel: number;
  /** Row among the kept queries. */
  readonly query: number;
  /** Query head among those that read the kv head. */
  readonly queryHead: number;
  readonly backend: 'webgpu' | 'reference';
}

/** Stands for the visitor's own scheme where ids of presets stand. */
export const CUSTOM = 'custom';

/** The head of the shipped capture in which 2-bit keys do most harm. */
export const DEFAULTS: Settings = {
  data: 'shipped',
  synthetic: { outlierChannels: 3, outlierStrength: 8, tails: 0.4, means: 1, seed: 1 },
  layer: 18,
  kvHead: 2,
  schemes: ['kivi-2bit-g32', 'lowbit-2-9'],
  custom: '',
  tensor: 'key',
  token: 400,
  channel: 59,
  query: 17,
  queryHead: 0,
  backend: 'webgpu',
};

export type Change = (changes: Partial<Settings>) => void;
