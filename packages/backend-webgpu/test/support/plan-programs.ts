/**
 * Every shader that a plan runs.
 */
import type { LayerPlan, Plan } from '@lowbit-kv/core';
import {
  attentionPrograms,
  orderOf,
  type ShaderOptions,
} from '../../src/shaders/attention-programs.js';
import type { Program } from '../../src/shaders/programs.js';
import { tensorNumbers } from '../../src/shaders/tensor-numbers.js';
import { tensorPrograms } from '../../src/shaders/tensor-programs.js';

/** By what it is for, for example `key codes`. */
export type NamedPrograms = readonly (readonly [name: string, program: Program])[];

export function layerPrograms(layer: LayerPlan, options: ShaderOptions): NamedPrograms {
  const numbers = { key: tensorNumbers(layer.key), value: tensorNumbers(layer.value) };
  const { query, attend, merge } = attentionPrograms(layer, numbers, options);
  const order = orderOf(layer, options);
  const ofTensor = (tensor: 'key' | 'value') => {
    const { write, copy, pack } = tensorPrograms(layer[tensor], numbers[tensor], order);
    const programs: [string, Program][] = [
      [`${tensor} write`, write],
      [`${tensor} copy`, copy],
    ];
    if (pack === null) return programs;
    const { tile, rows } = pack;
    if (tile !== null) programs.push([`${tensor} tile`, tile.program]);
    if (rows !== null) {
      programs.push([`${tensor} gather`, rows.gather]);
      if (rows.parameters !== null) programs.push([`${tensor} parameters`, rows.parameters]);
      programs.push([`${tensor} codes`, rows.codes]);
      if (rows.outliers !== null) programs.push([`${tensor} outliers`, rows.outliers]);
    }
    for (const [i, { gather, measure }] of pack.statistics.entries()) {
      programs.push([`${tensor} gather ${i}`, gather], [`${tensor} measure ${i}`, measure]);
    }
    return programs;
  };
  return [
    ['query', query],
    ['attend', attend],
    ['merge', merge],
    ...ofTensor('key'),
    ...ofTensor('value'),
  ];
}

/** Distinct texts of all layers. */
export function planTexts(plan: Plan, options: ShaderOptions): Set<string> {
  return new Set(
    plan.layers.flatMap((layer) => layerPrograms(layer, options).map(([, { code }]) => code)),
  );
}
