/**
 * The blocks that run on a GPU: on SwiftShader, and on the fake driver of CUDA.
 */

import { gpuTensor } from '@lowbit-kv/backend-webgpu';
import { createPlan } from '@lowbit-kv/core';
import { kivi, presets as kiviPresets } from '@lowbit-kv/scheme-kivi';
import { FakeCuda } from '../../../packages/backend-cuda/test/support/fake/fake-driver.js';
import { FAKE_FATBIN } from '../../../packages/backend-cuda/test/support/fake/images.js';
import type { FakeKernel } from '../../../packages/backend-cuda/test/support/fake/kernels.js';
import { swiftShaderDevice } from '../../../packages/backend-webgpu/test/support/swiftshader.js';
import type { Given, Program } from './programs.js';

/** Usages of buffers: map to read, source and target of copies, storage. */
const [MAP_READ, COPY_SRC, COPY_DST, STORAGE] = [1, 4, 8, 128];

/** Buffers of a model for a token of 4 query heads on 2 kv heads: the value is 1, so the output is. */
async function modelOnDevice(): Promise<Given> {
  const device = await swiftShaderDevice();
  const [queryHeads, kvHeads, dim] = [4, 2, 128];
  const bufferOf = (data: Uint16Array | Float32Array, usage = 0) => {
    const buffer = device.createBuffer({
      size: data.byteLength,
      usage: STORAGE | COPY_DST | usage,
    });
    device.queue.writeBuffer(buffer, 0, data as Uint16Array<ArrayBuffer>);
    return buffer;
  };
  const ones = new Uint16Array(kvHeads * dim).fill(0x3c00);
  const outputBuffer = bufferOf(new Float32Array(queryHeads * dim), COPY_SRC);
  const geometry = { layers: 1, queryHeads, kvHeads, keyHeadDim: dim, valueHeadDim: dim };
  return {
    ...{ device, queryHeads, kvHeads, layer: 0, outputBuffer },
    plan: createPlan(kivi({ bits: 4 }), geometry),
    keyBuffer: bufferOf(ones),
    values: gpuTensor(bufferOf(ones), { type: 'f16', shape: [1, kvHeads, dim] }),
    queries: gpuTensor(bufferOf(new Float32Array(queryHeads * dim)), {
      type: 'f32',
      shape: [1, queryHeads, dim],
    }),
    readBack: async () => {
      const { size } = outputBuffer;
      const target = device.createBuffer({ size, usage: MAP_READ | COPY_DST });
      const encoder = device.createCommandEncoder();
      encoder.copyBufferToBuffer(outputBuffer, 0, target, 0, size);
      device.queue.submit([encoder.finish()]);
      await target.mapAsync(MAP_READ);
      return new Float32Array(target.getMappedRange().slice(0));
    },
  };
}

/** Scales in place, and notes each run. */
function scaleKernel(runs: number[]): FakeKernel {
  return {
    name: 'scale',
    parameters: ['pointer', 'u32', 'f32'],
    run({ parameters, memory }) {
      const data = memory.at(Float32Array, parameters.pointer(0), parameters.u32(1));
      for (const [i, x] of data.entries()) data[i] = x * parameters.f32(2);
      runs.push(data.length);
    },
  };
}

const runs: number[] = [];

export const DEVICE_PROGRAMS: Readonly<Record<string, Program>> = {
  'packages/backend-webgpu/README.md#2': {
    given: async () => ({ schemes: kiviPresets, device: await swiftShaderDevice() }),
    holds: "kv.backends.get('webgpu').id === 'webgpu'",
  },
  'packages/backend-webgpu/README.md#3': {
    given: modelOnDevice,
    holds: '(await readBack()).every((x) => x === 1) && sequence.length === 1',
  },
  'packages/backend-cuda/README.md#2': {
    given: () => ({ schemes: kiviPresets }),
    holds: "kv.backends.get('cuda').id === 'cuda'",
  },
  'packages/backend-cuda/README.md#5': {
    given: () => ({ image: FAKE_FATBIN, runs }),
    modules: async () => {
      const cuda = await import('@lowbit-kv/backend-cuda');
      const { driver } = new FakeCuda({ kernels: [scaleKernel(runs)] });
      return {
        '@lowbit-kv/backend-cuda': { ...cuda, openCuda: () => cuda.openCuda({ driver }) },
      };
    },
    holds: 'runs.join() === "1024,1024"',
  },
};
