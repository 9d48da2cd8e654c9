// Contexts: the right one is current in every call, the caller's afterwards; loss and disposal.
import { expect, test } from 'vitest';
import { Context } from '../src/driver/context.js';
import { openCuda } from '../src/driver/cuda.js';
import { DeviceMemory } from '../src/driver/device-memory.js';
import { Event } from '../src/driver/event.js';
import { CudaCallError } from '../src/driver/failure.js';
import { Stream } from '../src/driver/stream.js';
import { FakeCuda } from './support/fake/fake-driver.js';
import { errorOf, INCREMENT, STRAY, withFake } from './support/open-fake.js';

test("calls run in our context, and the caller's is current afterwards", async () => {
  const fake = new FakeCuda({ devices: [{}, {}] });
  const cuda = await openCuda({ driver: fake.driver });
  const callers = fake.createContext(1);
  const context = Context.primary(cuda.device(0));
  const memory = DeviceMemory.allocate(context, 16);
  expect(fake.currentContext).toBe(callers);
  expect(memory.all.upload(new Uint8Array(16).fill(7))).toBeUndefined();
  expect(fake.currentContext).toBe(callers);
  expect([...memory.all.download()]).toEqual(new Array(16).fill(7));
  expect(() =>
    context.run(() => {
      expect(fake.currentContext).toBe(context.handle);
      throw new Error('of the caller');
    }),
  ).toThrow('of the caller');
  expect(fake.currentContext).toBe(callers);
  context.dispose();
  expect(fake.currentContext).toBe(callers);
  fake.popContext();
  expect(fake.leaks()).toEqual([]);
});

test('two contexts within each other each get their own', async () => {
  const fake = new FakeCuda({ devices: [{}, {}] });
  const cuda = await openCuda({ driver: fake.driver });
  const [first, second] = [0, 1].map((ordinal) => Context.primary(cuda.device(ordinal)));
  const seen: bigint[] = [];
  const look = () => seen.push(fake.currentContext);
  first!.run(() => {
    second!.run(() => {
      look();
      first!.run(look);
      look();
    });
    look();
  });
  expect(seen).toEqual([second!.handle, first!.handle, second!.handle, first!.handle]);
  expect(fake.currentContext).toBe(0n);
  first!.dispose();
  second!.dispose();
  expect(fake.leaks()).toEqual([]);
});

test('many calls inside `run` ask for the current context once', async () => {
  await withFake({}, ({ fake, context, stream }) => {
    const event = Event.create(context);
    fake.takeCalls();
    context.run(() => {
      for (let call = 0; call < 3; call++) event.record(stream);
    });
    expect(fake.takeCalls()).toEqual([
      'cuCtxGetCurrent',
      'cuCtxPushCurrent_v2',
      ...new Array(3).fill('cuEventRecord'),
      'cuCtxPopCurrent_v2',
    ]);
  });
});

test("the caller's current context is used and stays alive", async () => {
  const fake = new FakeCuda({ devices: [{}, {}] });
  const cuda = await openCuda({ driver: fake.driver });
  expect(await errorOf(() => Context.current(cuda))).toMatchObject({
    code: 'DEVICE_RESOURCE_STATE',
    summary: 'no CUDA context is current in this thread',
  });
  const callers = fake.createContext(1);
  const context = Context.current(cuda);
  expect(context).toMatchObject({ handle: callers, device: { ordinal: 1 } });
  DeviceMemory.allocate(context, 64);
  fake.takeCalls();
  expect(fake.leaks()).toContain('device memory of 64 bytes');
  context.dispose();
  expect(fake.takeCalls()).not.toContain('cuDevicePrimaryCtxRelease_v2');
  expect(fake.currentContext).toBe(callers);
  fake.popContext();
  expect(fake.leaks()).toEqual([]);
});

test('disposal frees everything, once, and use afterwards is refused', async () => {
  const fake = new FakeCuda();
  const cuda = await openCuda({ driver: fake.driver });
  const context = Context.primary(cuda.device());
  const stream = Stream.create(context);
  const memory = DeviceMemory.allocate(context, 64);
  const { all } = memory;
  expect(context.resourceCount).toBe(2);
  memory.dispose();
  memory.dispose();
  expect(fake.count('cuMemFree_v2')).toBe(1);
  expect(context.resourceCount).toBe(1);
  for (const use of [() => memory.pointer, () => all.download(), () => all.fill(stream, 0)]) {
    expect(await errorOf(use)).toMatchObject({
      code: 'DEVICE_RESOURCE_STATE',
      summary: 'the device memory was disposed',
    });
  }
  context.dispose();
  context.dispose();
  expect(stream.disposed).toBe(true);
  expect(fake.count('cuDevicePrimaryCtxRelease_v2')).toBe(1);
  expect(fake.leaks()).toEqual([]);
  expect((await errorOf(() => stream.synchronize())).summary).toBe('the stream was disposed');
  expect(await errorOf(() => Stream.create(context))).toMatchObject({
    code: 'DEVICE_RESOURCE_STATE',
    summary: 'the CUDA context was disposed',
  });
});

test('a stray kernel loses the context: told at the next wait, and by every call after it', async () => {
  await withFake({ kernels: [STRAY] }, async ({ fake, context, stream, module }) => {
    const memory = DeviceMemory.allocate(context, 64);
    module
      .kernel('stray', ['pointer'])
      .prepare({ grid: [1], block: [1] })
      .set(0, memory.all)
      .run(stream);
    expect(context.lost).toBeUndefined();
    const error = await errorOf(() => stream.synchronize());
    expect(error).toMatchObject({
      code: 'DEVICE_LOST',
      value: 'CUDA_ERROR_ILLEGAL_ADDRESS (700)',
      next: expect.stringContaining('end the process'),
      where: { call: 'cuStreamSynchronize', device: 0 },
    });
    expect(error.cause).toBeInstanceOf(CudaCallError);
    expect(error.cause).toMatchObject({ call: 'cuStreamSynchronize', result: 700 });
    expect(context.lost).toBe(error);
    expect(await errorOf(() => DeviceMemory.allocate(context, 1))).toBe(error);
    expect(await errorOf(() => memory.all.download())).toBe(error);
    fake.takeCalls();
    memory.dispose();
    expect(await errorOf(() => stream.synchronize())).toBe(error);
    expect(fake.takeCalls()).toEqual([]);
  });
});

test('an error of a launch that is not sticky leaves the context in use', async () => {
  await withFake({ kernels: [INCREMENT] }, async ({ fake, context, stream, module }) => {
    const memory = DeviceMemory.allocate(context, 4);
    memory.all.upload(new Uint8Array(4));
    const launch = module
      .kernel('increment', ['pointer'])
      .prepare({ grid: [3, 2], block: [32] })
      .set(0, memory.all);
    fake.failNext('cuLaunchKernel', 701);
    expect(await errorOf(() => launch.run(stream))).toMatchObject({
      code: 'BACKEND_FAILED',
      summary: 'kernel increment was not launched: launch out of resources',
      where: { call: 'cuLaunchKernel', grid: [3, 2, 1], block: [32, 1, 1], sharedBytes: 0 },
    });
    expect(context.lost).toBeUndefined();
    launch.run(stream);
    stream.synchronize();
    expect([...memory.all.download()]).toEqual([1, 0, 0, 0]);
  });
});

test('faults of the calls that make contexts current are told', async () => {
  await withFake({}, async ({ fake, context, stream }) => {
    fake.failNext('cuCtxPushCurrent_v2', 201);
    expect((await errorOf(() => stream.synchronize())).value).toBe(
      'CUDA_ERROR_INVALID_CONTEXT (201)',
    );
    fake.failNext('cuCtxPopCurrent_v2', 201);
    expect((await errorOf(() => stream.synchronize())).where).toMatchObject({
      call: 'cuCtxPopCurrent_v2',
    });
    fake.popContext();
    stream.synchronize();
    expect(context.run(() => fake.currentContext)).toBe(context.handle);
  });
});
