// The driver layer through koffi, on a libcuda in C that checks and echoes what arrives.
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { Context } from '../src/driver/context.js';
import { openCuda } from '../src/driver/cuda.js';
import { DeviceMemory } from '../src/driver/device-memory.js';
import { Event } from '../src/driver/event.js';
import { describeResult } from '../src/driver/failure.js';
import { Graph } from '../src/driver/graph.js';
import { Module } from '../src/driver/module.js';
import { PinnedMemory } from '../src/driver/pinned-memory.js';
import { probeCuda } from '../src/driver/probe.js';
import { Stream } from '../src/driver/stream.js';
import { UploadRing } from '../src/driver/upload-ring.js';
import { buildFakeLibrary, compiler } from './support/compile-fake.js';
import { errorOf } from './support/open-fake.js';

const STREAM = 0x7f00_dead_beef_0010n;
const ECHO_TYPES = ['pointer', 'u32', 'i32', 'f32', 'u64', 'i64', 'f64', { bytes: 12 }] as const;

describe.skipIf(compiler === undefined)('libcuda in C', () => {
  let built: ReturnType<typeof buildFakeLibrary>;
  let context: Context;
  let stream: Stream;

  beforeAll(async () => {
    built = buildFakeLibrary();
    const cuda = await openCuda({ library: built.library });
    context = Context.primary(cuda.device());
    stream = Stream.create(context);
  });

  afterAll(() => {
    context.dispose();
    built.remove();
  });

  test('versions and devices', () => {
    const { device } = context;
    expect(device.cuda).toMatchObject({ version: 13_000, deviceCount: 1 });
    expect(device.properties).toMatchObject({
      name: 'Fake card 0',
      uuid: 'GPU-f0f1f2f3-f4f5-f6f7-f8f9-fafbfcfdfeff',
      computeCapability: { major: 9, minor: 0 },
      memoryBytes: 140 * 2 ** 30,
      limits: { multiprocessors: 1016, sharedBytesPerBlockOptIn: 232_448 },
    });
    expect(context.memory()).toEqual({ free: 123 * 2 ** 32, total: 456 * 2 ** 32 });
    expect(context.handle).toBe(0x00c0_ffee_0000_0001n);
    expect(stream.handle).toBe(STREAM);
    expect(Stream.create(context, { priority: -5 }).handle).toBe(STREAM);
  });

  test('what `doctor` says of it', async () => {
    const image = {
      name: 'sm_90',
      kind: 'machineCode',
      capability: { major: 9, minor: 0 },
      minimumVersion: 12_000,
    } as const;
    expect(await probeCuda({ library: built.library, images: () => [image] })).toEqual({
      ok: true,
      device:
        'Fake card 0 (compute capability 9.0, 140.0 GiB, 1016 multiprocessors), driver for CUDA 13.0, kernels sm_90',
    });
  });

  test('the context is current in calls, and no longer afterwards', () => {
    const current = () => {
      const cell = new BigUint64Array(1);
      context.driver.cuCtxGetCurrent(cell);
      return cell[0];
    };
    expect(current()).toBe(0n);
    expect(context.run(current)).toBe(context.handle);
    expect(current()).toBe(0n);
  });

  test('bytes go up and down, through views with an offset and through pinned memory', () => {
    const memory = DeviceMemory.allocate(context, 4096);
    const bytes = Uint8Array.from({ length: 4096 }, (_, index) => index * 7);
    memory.all.upload(bytes);
    expect(memory.all.download()).toEqual(bytes);
    expect(memory.range(1000, 50).download()).toEqual(bytes.subarray(1000, 1050));
    memory.range(10).upload(bytes.subarray(3, 8));
    const target = new Uint8Array(9);
    memory.range(9).download(target.subarray(2, 9));
    expect([...target]).toEqual([0, 0, bytes[9], ...bytes.subarray(3, 8), bytes[15]]);

    const pinned = PinnedMemory.allocate(context, 64);
    expect(pinned.read()).toEqual(new Uint8Array(64));
    pinned.write(bytes.subarray(100, 164));
    memory.range(2000).uploadFrom(stream, pinned, 16, 48);
    pinned.write(new Uint8Array(64));
    memory.range(2000, 48).downloadTo(stream, pinned, 8);
    expect([...pinned.read()]).toEqual([
      ...new Array(8).fill(0),
      ...bytes.subarray(116, 164),
      ...new Array(8).fill(0),
    ]);
    pinned.dispose();

    memory.range(0, 8).fill(stream, 0xab);
    memory.range(8, 8).fillWords(stream, 0xfedc_ba98);
    memory.range(16, 8).copyFrom(stream, memory.range(4, 8));
    expect(Buffer.from(memory.range(0, 24).download()).toString('hex')).toBe(
      `${'ab'.repeat(8)}${'98badcfe'.repeat(2)}${'ab'.repeat(4)}98badcfe`,
    );
    expect(DeviceMemory.of(context, memory.pointer, 8).range(0, 1).download()).toEqual(
      Uint8Array.of(0xab),
    );
    memory.dispose();
  });

  test.each([false, true])(
    'parameters and shape of a launch, with an attribute: %s',
    (overlapsPrevious) => {
      const out = DeviceMemory.allocate(context, 160);
      const module = Module.load(context, '.version 7.0\n.target sm_80\n');
      expect(module.log).toBe('info: 12 registers');
      const kernel = module.kernel('echo', ECHO_TYPES);
      expect(kernel.attributes).toEqual({
        maxThreadsPerBlock: 512,
        sharedBytes: 256,
        constantBytes: 0,
        localBytes: 8,
        registers: 40,
        ptxVersion: 70,
        binaryVersion: 90,
      });
      expect(kernel.blocksPerMultiprocessor(128, 4096)).toBe(6);
      const launch = kernel.prepare({
        grid: [7, 6, 5],
        block: [64, 2, 3],
        sharedBytes: 65_536,
        overlapsPrevious,
      });
      const allowed = new Int32Array(1);
      context.driver.cuFuncGetAttribute(allowed, 8, kernel.handle);
      expect(allowed[0]).toBe(65_536);
      const values = [out.all, 0xffff_fffe, -3, 1.5, 0xfedc_ba98_7654_3210n, -2n, Math.PI] as const;
      for (const [index, value] of values.entries()) launch.set(index, value);
      for (const word of [0, 1, 2]) launch.parameters.view(7).setUint32(4 * word, 500 + word, true);
      const echoed = () => {
        out.all.fill(stream, 0);
        launch.run(stream);
        const view = new DataView(out.all.download().buffer);
        return {
          values: [
            view.getUint32(0, true),
            view.getInt32(16, true),
            view.getFloat32(32, true),
            view.getBigUint64(48, true),
            view.getBigInt64(64, true),
            view.getFloat64(80, true),
            view.getUint32(96, true),
            view.getUint32(104, true),
          ],
          shape: Array.from({ length: 7 }, (_, index) => view.getUint32(112 + 4 * index, true)),
          attribute: view.getUint32(140, true),
        };
      };
      const expected = {
        values: [0xffff_fffe, -3, 1.5, 0xfedc_ba98_7654_3210n, -2n, Math.PI, 500, 502],
        shape: [7, 6, 5, 64, 2, 3, 65_536],
        attribute: overlapsPrevious ? 6001 : 0,
      };
      expect(echoed()).toEqual(expected);
      launch.setGrid(1000, 2);
      launch.set(1, 12);
      expect(echoed()).toEqual({
        ...expected,
        values: [12, ...expected.values.slice(1)],
        shape: [1000, 2, 1, ...expected.shape.slice(3)],
      });
      const other = Stream.of(context, 5n);
      expect(() => launch.run(other)).toThrow('CUDA_ERROR_INVALID_VALUE (1)');
      out.dispose();
      module.dispose();
    },
  );

  test('prepared launches survive garbage collection', () => {
    const out = DeviceMemory.allocate(context, 160);
    const module = Module.load(context, '.version 7.0\n');
    const kernel = module.kernel('echo', ECHO_TYPES);
    const launches = Array.from({ length: 200 }, (_, number) => {
      const launch = kernel.prepare({ grid: [1], block: [1], overlapsPrevious: number % 2 === 0 });
      launch.set(0, out.all).set(1, number).set(2, 0).set(3, 0).set(4, 0n).set(5, 0n).set(6, 0);
      return launch;
    });
    for (let round = 0; round < 20; round++) void Array.from({ length: 50_000 }, () => ({ round }));
    for (const [number, launch] of launches.entries()) {
      launch.run(stream);
      expect(new DataView(out.range(0, 4).download().buffer).getUint32(0, true)).toBe(number);
    }
    out.dispose();
  });

  test('streams, events and graphs', async () => {
    expect([stream.isIdle(), stream.isIdle()]).toEqual([false, true]);
    const [start, end] = [
      Event.create(context, { timing: true }),
      Event.create(context, { timing: true }),
    ];
    start.record(stream);
    end.record(stream);
    stream.wait(end);
    expect(end.happened()).toBe(true);
    end.synchronize();
    expect(end.millisecondsSince(start)).toBe(1.25);
    expect(() => Event.create(context).millisecondsSince(start)).toThrow(
      'CUDA_ERROR_INVALID_VALUE',
    );
    await stream.finished();
    stream.synchronize();
    context.synchronize();
    expect(stream.isCapturing()).toBe(false);
    const graph = Graph.capture(stream, () => expect(stream.isCapturing()).toBe(true));
    expect(graph.handle).toBe(0x7f00_dead_beef_0050n);
    graph.run(stream);
    graph.dispose();
  });

  test('the upload ring', () => {
    const ring = new UploadRing(context, { chunkBytes: 64 });
    const memory = DeviceMemory.allocate(context, 320);
    for (let upload = 0; upload < 10; upload++)
      ring.upload(stream, memory.range(32 * upload), new Uint8Array(32).fill(upload));
    expect(
      Array.from({ length: 10 }, (_, upload) => memory.all.download()[32 * upload + 31]),
    ).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
    ring.dispose();
    memory.dispose();
  });

  test('failures come with the words of the driver', async () => {
    const { driver } = context;
    expect(describeResult(driver, 1)).toEqual({
      name: 'CUDA_ERROR_INVALID_VALUE',
      description: 'invalid argument',
    });
    expect(describeResult(driver, 999).name).toBe('CUresult 999');
    expect(await errorOf(() => Module.load(context, '.version 9.0\n'))).toMatchObject({
      code: 'KERNEL_IMAGE_INVALID',
      summary: expect.stringContaining('(its compiler says: fatal: unsupported .version)'),
      cause: { call: 'cuModuleLoadDataEx', result: 222 },
    });
    expect(
      await errorOf(() => Module.load(context, '.version 7.0').kernel('none', [])),
    ).toMatchObject({
      value: 'none',
      cause: { call: 'cuModuleGetFunction', result: 500 },
    });
    expect(await errorOf(() => DeviceMemory.allocate(context, 2 ** 41))).toMatchObject({
      code: 'DEVICE_OUT_OF_MEMORY',
      value: 2 ** 41,
    });
    expect((await errorOf(() => DeviceMemory.of(context, 5n, 1))).code).toBe('TENSOR_INVALID');
  });

  test('a function that the driver lacks is an error of who needs it', async () => {
    expect(await errorOf(() => DeviceMemory.allocateIn(stream, 64))).toMatchObject({
      code: 'BACKEND_UNAVAILABLE',
      summary: 'the NVIDIA driver has no function cuMemAllocAsync',
      value: 'a driver for CUDA 13.0',
      next: expect.stringContaining('Install NVIDIA driver'),
    });
  });
});
