// Sizes of the InnerQ repository's cache by step, through the simulation.
import { lcgNormal } from '@lowbit-kv/core/testing';
import { readCacheRows } from '../../../core/test/support/golden-file.js';
import {
  type InnerqRepositorySetting,
  innerqRepository,
} from '../../src/compat/repository-settings.js';

export interface SizeCase {
  readonly preset: string;
  readonly L: number;
  readonly steps: number;
  readonly tokens_per_step?: number;
  readonly rows: readonly number[][];
}

export const { columns, cases: sizeCases } = readCacheRows('innerq') as unknown as {
  readonly columns: readonly string[];
  readonly cases: readonly SizeCase[];
};

function settingOf(preset: string): InnerqRepositorySetting {
  if (preset.startsWith('kivi_sink')) return 'kivi-sink';
  return preset.startsWith('kivi') ? 'kivi' : 'base';
}

/** Rows in the columns of the golden ones: after the prompt, then after every step. */
export function sizesByStep({ preset, L, steps, tokens_per_step: perStep = 1 }: SizeCase) {
  const shape = { layer: 0, kvHeads: 1, keyHeadDim: 32, valueHeadDim: 32 };
  const layer = innerqRepository(settingOf(preset)).createLayer(shape);
  const rows: number[][] = [];
  for (let step = 0; step <= steps; step++) {
    const count = step === 0 ? L : perStep;
    const added = lcgNormal({ seed: 1, shape: [count, 1, 32], dtype: 'f16' });
    layer.append(added, added);
    const { key, value } = layer.counts();
    rows.push([
      step,
      ...[key, value].flatMap(({ sinks, quantized, recent }) => [sinks, quantized, recent]),
    ]);
  }
  return rows;
}
