/**
 * The driver layer on the fake driver.
 */
import { LowbitKvError } from '@lowbit-kv/core';
import { expect } from 'vitest';
import { Context } from '../../src/driver/context.js';
import { type Cuda, openCuda } from '../../src/driver/cuda.js';
import { Module } from '../../src/driver/module.js';
import { Stream } from '../../src/driver/stream.js';
import { FakeCuda, type FakeOptions } from './fake/fake-driver.js';
import { FAKE_FATBIN } from './fake/images.js';
import type { FakeKernel } from './fake/kernels.js';

export interface Opened {
  readonly fake: FakeCuda;
  readonly cuda: Cuda;
  readonly context: Context;
  readonly stream: Stream;
  /** All kernels of the fake. */
  readonly module: Module;
}

/** Runs `body` in the primary context of the first device; afterwards nothing may be left. */
export async function withFake(
  options: FakeOptions,
  body: (opened: Opened) => void | Promise<void>,
): Promise<void> {
  const fake = new FakeCuda(options);
  const cuda = await openCuda({ driver: fake.driver });
  const context = Context.primary(cuda.device());
  const stream = Stream.create(context);
  const module = Module.load(context, FAKE_FATBIN);
  await body({ fake, cuda, context, stream, module });
  context.dispose();
  if (context.lost === undefined) expect(fake.leaks()).toEqual([]);
}

/** The LowbitKvError that `work` throws. */
export async function errorOf(work: () => unknown): Promise<LowbitKvError> {
  try {
    await work();
  } catch (error) {
    if (LowbitKvError.is(error)) return error;
    throw error;
  }
  throw new Error('nothing was thrown');
}

/** `target[i] = scale * source[i]`, one thread an element. */
export const SCALE: FakeKernel = {
  name: 'scale',
  parameters: ['pointer', 'pointer', 'u32', 'f32'],
  run({ grid, block, parameters, memory }) {
    const count = parameters.u32(2);
    expect(grid[0] * block[0]).toBeGreaterThanOrEqual(count);
    const target = memory.at(Float32Array, parameters.pointer(0), count);
    const source = memory.at(Float32Array, parameters.pointer(1), count);
    for (let index = 0; index < count; index++) target[index] = source[index]! * parameters.f32(3);
  },
};

/** Adds 1 to a word. */
export const INCREMENT: FakeKernel = {
  name: 'increment',
  parameters: ['pointer'],
  run({ parameters, memory }) {
    memory.at(Uint32Array, parameters.pointer(0), 1)[0]! += 1;
  },
};

/** Writes beyond the end of its memory. */
export const STRAY: FakeKernel = {
  name: 'stray',
  parameters: ['pointer'],
  run({ parameters, memory }) {
    memory.at(Uint8Array, parameters.pointer(0) + (1n << 20n), 1)[0] = 1;
  },
};

export function floats(values: readonly number[]): Uint8Array {
  return new Uint8Array(Float32Array.from(values).buffer);
}

export function asFloats(bytes: Uint8Array): number[] {
  return [...new Float32Array(bytes.slice().buffer)];
}

export function asWords(bytes: Uint8Array): number[] {
  return [...new Uint32Array(bytes.slice().buffer)];
}
