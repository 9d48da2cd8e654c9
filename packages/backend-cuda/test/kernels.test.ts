// Modules, kernels and launches.
import { expect, test } from 'vitest';
import { DeviceMemory } from '../src/driver/device-memory.js';
import { Module } from '../src/driver/module.js';
import { FAKE_FATBIN } from './support/fake/images.js';
import type { FakeKernel, KernelCall } from './support/fake/kernels.js';
import { asFloats, errorOf, floats, INCREMENT, SCALE, withFake } from './support/open-fake.js';

const ptx = (version: string, target: number, entry: string) =>
  `.version ${version}\n.target sm_${target}\n.address_size 64\n.visible .entry ${entry}() { ret; }\n`;

test('a kernel runs with what it was given, and again with what changed', async () => {
  await withFake({ kernels: [SCALE] }, ({ fake, context, stream, module }) => {
    const source = DeviceMemory.allocate(context, 16);
    const target = DeviceMemory.allocate(context, 16);
    source.all.upload(floats([1, 2, 3, 4]));
    const kernel = module.kernel('scale', ['pointer', 'pointer', 'u32', 'f32']);
    const launch = kernel
      .prepare({ grid: [1], block: [32] })
      .set(0, target.all)
      .set(1, source.pointer)
      .set(2, 4)
      .set(3, 0.5);
    launch.run(stream);
    // The parameters of the first launch were copied when it was enqueued.
    launch.set(3, 10).set(0, target.range(8)).set(2, 2);
    launch.run(stream);
    stream.synchronize();
    expect(asFloats(target.all.download())).toEqual([0.5, 1, 10, 20]);
    fake.takeCalls();
    context.run(() => {
      launch.run(stream);
      launch.run(stream);
    });
    expect(fake.takeCalls().filter((call) => !call.startsWith('cuCtx'))).toEqual([
      'cuLaunchKernel',
      'cuLaunchKernel',
    ]);
  });
});

test('every type of parameter arrives, and the shape of the launch', async () => {
  const calls: unknown[] = [];
  const types = ['pointer', 'i64', 'u32', 'i32', 'f32', 'f64', { bytes: 12 }] as const;
  const spy: FakeKernel = {
    name: 'spy',
    parameters: types,
    sharedBytes: 1000,
    run({ grid, block, sharedBytes, overlapsPrevious, parameters }: KernelCall) {
      const struct = parameters.bytes(6);
      calls.push({
        values: [
          parameters.pointer(0),
          parameters.i64(1),
          parameters.u32(2),
          parameters.i32(3),
          parameters.f32(4),
          parameters.f64(5),
          [0, 4, 8].map((offset) => struct.getUint32(offset, true)),
        ],
        shape: [grid, block, sharedBytes],
        overlapsPrevious,
      });
    },
  };
  await withFake({ kernels: [spy] }, ({ fake, stream, module }) => {
    const kernel = module.kernel('spy', types);
    const values = [0xffff_ffff_ffff_fff0n, -5n, 0xffff_fff0, -7, 0.1, 0.1] as const;
    for (const overlapsPrevious of [false, true]) {
      const launch = kernel.prepare({
        grid: [5, 4, 3],
        block: [32, 2, 4],
        sharedBytes: 100_000,
        overlapsPrevious,
      });
      for (const [index, value] of values.entries()) launch.set(index, value);
      for (const word of [0, 1, 2]) launch.parameters.view(6).setUint32(4 * word, 70 + word, true);
      launch.run(stream);
      launch.setGrid(6);
      launch.run(stream);
      stream.synchronize();
    }
    expect(fake.count('cuLaunchKernel')).toBe(2);
    expect(fake.count('cuLaunchKernelEx')).toBe(2);
    expect(fake.count('cuFuncSetAttribute')).toBe(1);
  });
  const call = (grid: readonly number[], overlapsPrevious: boolean) => ({
    values: [0xffff_ffff_ffff_fff0n, -5n, 0xffff_fff0, -7, Math.fround(0.1), 0.1, [70, 71, 72]],
    shape: [grid, [32, 2, 4], 100_000],
    overlapsPrevious,
  });
  expect(calls).toEqual([
    call([5, 4, 3], false),
    call([6, 1, 1], false),
    call([5, 4, 3], true),
    call([6, 1, 1], true),
  ]);
});

test('cards without programmatic dependent launch get plain launches', async () => {
  await withFake({ kernels: [INCREMENT], devices: [{ capability: 89 }] }, (opened) => {
    const { fake, context, stream, module } = opened;
    const memory = DeviceMemory.allocate(context, 4);
    const kernel = module.kernel('increment', ['pointer']);
    kernel
      .prepare({ grid: [1], block: [1], overlapsPrevious: true })
      .set(0, memory.all)
      .run(stream);
    expect([fake.count('cuLaunchKernel'), fake.count('cuLaunchKernelEx')]).toEqual([1, 0]);
    stream.synchronize();
  });
});

test('integers reach to both ends of 32 bits, and no further', async () => {
  const kernels: FakeKernel[] = [];
  const seen: number[] = [];
  kernels.push({
    name: 'ends',
    parameters: ['i32', 'u32'],
    run: ({ parameters }) => seen.push(parameters.i32(0), parameters.u32(1)),
  });
  await withFake({ kernels }, async ({ stream, module }) => {
    const launch = module.kernel('ends', ['i32', 'u32']).prepare({ grid: [1], block: [1] });
    for (const [signed, unsigned] of [
      [-(2 ** 31), 0],
      [2 ** 31 - 1, 2 ** 32 - 1],
    ] as const)
      launch.set(0, signed).set(1, unsigned).run(stream);
    stream.synchronize();
    for (const [index, value] of [
      [0, -(2 ** 31) - 1],
      [0, 2 ** 31],
      [1, -1],
      [1, 2 ** 32],
    ] as const)
      expect((await errorOf(() => launch.set(index, value))).code).toBe('OPTION_INVALID');
  });
  expect(seen).toEqual([-(2 ** 31), 0, 2 ** 31 - 1, 2 ** 32 - 1]);
});

test('values that do not fit their parameter are refused', async () => {
  await withFake({ kernels: [SCALE] }, async ({ stream, module, context }) => {
    const kernel = module.kernel('scale', ['pointer', 'pointer', 'u32', 'f32']);
    const launch = kernel.prepare({ grid: [1], block: [32] });
    const memory = DeviceMemory.allocate(context, 4);
    for (const [index, value] of [
      [0, 5],
      [0, -1n],
      [0, 1n << 64n],
      [2, -1],
      [2, 2 ** 32],
      [2, 0.5],
      [2, 5n],
      [3, 5n],
      [4, 1],
      [2, memory.all],
    ] as const) {
      expect((await errorOf(() => launch.set(index, value))).code).toBe('OPTION_INVALID');
    }
    launch.set(0, memory.all).set(2, 0xffff_ffff);
    expect(await errorOf(() => launch.run(stream))).toMatchObject({
      code: 'DEVICE_RESOURCE_STATE',
      value: [1, 3],
    });
    memory.dispose();
    expect((await errorOf(() => launch.set(1, memory.all))).summary).toBe(
      'the device memory was disposed',
    );
  });
});

test('attributes, occupancy and shared memory', async () => {
  const kernel: FakeKernel = {
    name: 'wide',
    parameters: [],
    registers: 168,
    localBytes: 16,
    sharedBytes: 2048,
    maxThreadsPerBlock: 256,
    run: () => undefined,
  };
  await withFake({ kernels: [kernel] }, async ({ fake, stream, module }) => {
    const wide = module.kernel('wide', []);
    expect(wide.attributes).toEqual({
      maxThreadsPerBlock: 256,
      sharedBytes: 2048,
      constantBytes: 0,
      localBytes: 16,
      registers: 168,
      ptxVersion: 80,
      binaryVersion: 90,
    });
    const asked = fake.count('cuFuncGetAttribute');
    expect(wide.attributes.registers).toBe(168);
    expect(fake.count('cuFuncGetAttribute')).toBe(asked);
    // Compiled for 8.0 it waits for nothing.
    expect(wide.canOverlap).toBe(false);
    expect(wide.blocksPerMultiprocessor(256)).toBe(1);
    expect(wide.blocksPerMultiprocessor(128, 100_000)).toBe(2);
    expect(await errorOf(() => wide.prepare({ grid: [1], block: [257] }))).toMatchObject({
      code: 'OPTION_INVALID',
      valid: expect.stringContaining('at most 256 threads'),
    });
    expect(
      await errorOf(() => wide.prepare({ grid: [1], block: [32], sharedBytes: 231_000 })),
    ).toMatchObject({
      code: 'PLAN_REFUSED',
      value: 233_048,
      valid: 'at most 232448 bytes',
    });
    const launch = wide.prepare({ grid: [1], block: [32] });
    for (const [x, y, z] of [[0], [1.5], [2 ** 31], [1, 65_536], [1, 1, 65_536]] as const)
      expect((await errorOf(() => launch.setGrid(x, y, z))).code).toBe('OPTION_INVALID');
    launch.run(stream);
    module.dispose();
    expect((await errorOf(() => launch.run(stream))).summary).toBe(
      'the kernel module was disposed',
    );
  });
});

test('images: PTX with its log, and what does not load', async () => {
  await withFake({ kernels: [INCREMENT, SCALE], version: 12_000 }, async ({ context }) => {
    const module = Module.load(context, ptx('8.0', 80, 'increment'));
    expect(module.log).toBe('info: compiled increment');
    expect(module.kernel('increment', ['pointer']).name).toBe('increment');
    expect(await errorOf(() => module.kernel('scale', []))).toMatchObject({
      code: 'BACKEND_FAILED',
      value: 'scale',
      summary: 'the kernel image has no such kernel: not found',
    });
    const refused: [Uint8Array | string, number, RegExp][] = [
      [ptx('8.1', 80, 'increment'), 222, /its compiler says: fatal: Unsupported .version 8.1/],
      [ptx('7.0', 100, 'increment'), 209, /does not load a kernel image: no binary/],
      [new Uint8Array(100), 200, /invalid image/],
      ['', 200, /invalid image/],
    ];
    for (const [image, result, summary] of refused) {
      expect(await errorOf(() => Module.load(context, image))).toMatchObject({
        code: 'KERNEL_IMAGE_INVALID',
        summary: expect.stringMatching(summary),
        cause: { result },
      });
    }
    const shifted = new Uint8Array(FAKE_FATBIN.length + 1);
    shifted.set(FAKE_FATBIN, 1);
    expect(Module.load(context, shifted.subarray(1)).log).toBe('');
  });
});
