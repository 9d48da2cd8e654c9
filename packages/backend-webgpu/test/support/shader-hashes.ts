/**
 * Hashes of the shaders that only run where workgroups of 32 are one subgroup: no machine of CI has such subgroups.
 */
import { createHash } from 'node:crypto';
import {
  orderOf,
  type Precision,
  type ShaderOptions,
} from '../../src/shaders/attention-programs.js';
import { staysHalf } from '../../src/shaders/half-programs.js';
import { mainPlans } from './main-plans.js';
import { layerPrograms } from './plan-programs.js';

export interface ShaderHashes {
  /** Of the last run on a GPU, YYYY-MM-DD. */
  readonly date: string;
  readonly adapter: string;
  /** SHA-256 of the text of `attend`, by plan and precision. */
  readonly hashes: Readonly<Record<string, string>>;
}

export const HASHES_FILE = new URL(
  '../../../../benchmarks/results/webgpu-shader-hashes.json',
  import.meta.url,
);

const PRECISIONS: readonly Precision[] = ['exact', 'fast'];

/** Main plans whose attention uses subgroups: what it meets in integers, and what stays f16. */
export function subgroupPlans(): ReturnType<typeof mainPlans> {
  return mainPlans().filter(({ plan }) =>
    plan.layers.every(
      (layer) => orderOf(layer, optionsOf('exact')) === 'reduction' || staysHalf(layer),
    ),
  );
}

export function shaderHashes(): Record<string, string> {
  const hashes: Record<string, string> = {};
  for (const { name, plan } of subgroupPlans()) {
    for (const precision of PRECISIONS) {
      for (const layer of plan.layers) {
        // What stays f16 has one text for both.
        if (precision === 'fast' && staysHalf(layer)) continue;
        for (const [kernel, { code }] of layerPrograms(layer, optionsOf(precision))) {
          if (kernel === 'attend')
            hashes[`${name}, ${precision}`] = createHash('sha256').update(code).digest('hex');
        }
      }
    }
  }
  return hashes;
}

function optionsOf(precision: Precision): ShaderOptions {
  return { precision, subgroupsOf32: true, integerDots: true };
}
