/**
 * The kernels that a plan needs, made once per text.
 */
import type { LayerPlan } from '@lowbit-kv/core';
import type { Kernel, Pipelines } from '../device/pipelines.js';
import { attentionPrograms, orderOf, type ShaderOptions } from '../shaders/attention-programs.js';
import { importPrograms } from '../shaders/import-programs.js';
import type { Program } from '../shaders/programs.js';
import { tensorNumbers } from '../shaders/tensor-numbers.js';
import { type TensorPrograms, tensorPrograms } from '../shaders/tensor-programs.js';
import type { TensorKernels } from './append.js';
import type { AttentionKernels } from './attend.js';
import type { ImportKernels } from './input-pool.js';

export interface LayerKernels {
  readonly key: TensorKernels;
  readonly value: TensorKernels;
  readonly attention: AttentionKernels;
}

export async function planKernels(
  pipelines: Pipelines,
  shaders: ShaderOptions,
  layers: readonly LayerPlan[],
): Promise<LayerKernels[]> {
  return Promise.all(layers.map((layer) => layerKernels(pipelines, shaders, layer)));
}

export async function importKernels(pipelines: Pipelines): Promise<ImportKernels> {
  const { half, float, aligned } = importPrograms();
  return {
    half: await pipelines.kernel(half),
    float: await pipelines.kernel(float),
    aligned: await pipelines.kernel(aligned),
  };
}

async function layerKernels(
  pipelines: Pipelines,
  shaders: ShaderOptions,
  layer: LayerPlan,
): Promise<LayerKernels> {
  const numbers = {
    key: tensorNumbers(layer.key, layer.geometry.rotary),
    value: tensorNumbers(layer.value),
  };
  const order = orderOf(layer, shaders);
  const kernel = (program: Program): Promise<Kernel> => pipelines.kernel(program);
  const programs = attentionPrograms(layer, numbers, shaders);
  const [key, value, query, attendKernel, merge] = await Promise.all([
    tensorKernels(pipelines, tensorPrograms(layer.key, numbers.key, order)),
    tensorKernels(pipelines, tensorPrograms(layer.value, numbers.value, order)),
    kernel(programs.query),
    kernel(programs.attend),
    kernel(programs.merge),
  ]);
  return { key, value, attention: { ...programs, query, attend: attendKernel, merge } };
}

async function tensorKernels(
  pipelines: Pipelines,
  programs: TensorPrograms,
): Promise<TensorKernels> {
  const kernel = (program: Program): Promise<Kernel> => pipelines.kernel(program);
  const { write, copy, pack } = programs;
  return {
    write: await kernel(write),
    copy: await kernel(copy),
    pack: pack && {
      tile: pack.tile && { ...pack.tile, kernel: await kernel(pack.tile.program) },
      rows: pack.rows && {
        gather: await kernel(pack.rows.gather),
        parameters: pack.rows.parameters && (await kernel(pack.rows.parameters)),
        codes: await kernel(pack.rows.codes),
        top: pack.rows.top && (await kernel(pack.rows.top)),
        outliers: pack.rows.outliers && (await kernel(pack.rows.outliers)),
      },
      statistics: await Promise.all(
        pack.statistics.map(async ({ gather, measure }) => ({
          gather: await kernel(gather),
          measure: await kernel(measure),
        })),
      ),
    },
  };
}
