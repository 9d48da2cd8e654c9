// Device and pinned memory, and the order that streams and events give.
import { expect, test } from 'vitest';
import { Context } from '../src/driver/context.js';
import { openCuda } from '../src/driver/cuda.js';
import { DeviceMemory } from '../src/driver/device-memory.js';
import { Event } from '../src/driver/event.js';
import { PinnedMemory } from '../src/driver/pinned-memory.js';
import { Stream } from '../src/driver/stream.js';
import { FakeCuda } from './support/fake/fake-driver.js';
import { errorOf, withFake } from './support/open-fake.js';

const counting = (bytes: number, first = 0) =>
  Uint8Array.from({ length: bytes }, (_, index) => first + index);

test('bytes go up, across and down, in ranges', async () => {
  await withFake({}, ({ context, stream }) => {
    const memory = DeviceMemory.allocate(context, 64);
    memory.all.upload(counting(64));
    const range = memory.range(16, 8);
    expect(range.pointer).toBe(memory.pointer + 16n);
    expect(range.range(2, 3).pointer).toBe(memory.pointer + 18n);
    expect([...range.download()]).toEqual([...counting(8, 16)]);
    const other = DeviceMemory.allocate(context, 32);
    other.all.fill(stream, 0x11);
    other.range(4).copyFrom(stream, range);
    other.range(16, 8).fillWords(stream, 0x04030201);
    stream.synchronize();
    expect([...other.all.download()]).toEqual([
      ...new Array(4).fill(0x11),
      ...counting(8, 16),
      ...new Array(4).fill(0x11),
      ...[1, 2, 3, 4, 1, 2, 3, 4],
      ...new Array(8).fill(0x11),
    ]);
  });
});

test('ranges and copies stay inside', async () => {
  await withFake({}, async ({ context, stream }) => {
    const memory = DeviceMemory.allocate(context, 16);
    const pinned = PinnedMemory.allocate(context, 8);
    const outside = [
      () => memory.range(8, 9),
      () => memory.range(-1, 1),
      () => memory.range(0.5, 1),
      () => memory.range(17),
      () => memory.range(8).range(4, 5),
      () => memory.all.upload(new Uint8Array(17)),
      () => memory.range(12).upload(new Uint8Array(5)),
      () => memory.all.download(new Uint8Array(17)),
      () => memory.all.uploadFrom(stream, pinned, 4, 5),
      () => memory.range(12).uploadFrom(stream, pinned, 0, 5),
      () => memory.all.downloadTo(stream, pinned),
      () => memory.range(8).copyFrom(stream, memory.range(0, 9)),
      () => memory.range(2).fillWords(stream, 1),
      () => memory.range(1, 4).fillWords(stream, 1),
    ];
    for (const [index, use] of outside.entries())
      expect((await errorOf(use)).code, `use ${index}`).toBe('OPTION_INVALID');
    memory.range(16).upload(new Uint8Array(0));
    expect(memory.range(16).download()).toHaveLength(0);
  });
});

test('out of memory is its own error, with what is free', async () => {
  await withFake({ devices: [{ memoryBytes: 1000 }] }, async ({ fake, context, stream }) => {
    const memory = DeviceMemory.allocate(context, 600);
    expect(context.memory()).toEqual({ free: 400, total: 1000 });
    for (const allocate of [
      () => DeviceMemory.allocate(context, 401),
      () => DeviceMemory.allocateIn(stream, 401),
    ]) {
      expect(await errorOf(allocate)).toMatchObject({
        code: 'DEVICE_OUT_OF_MEMORY',
        value: 401,
        valid: 'at most 400 bytes, free now of 1000',
        next: expect.stringContaining('smaller capacity'),
      });
    }
    expect(context.lost).toBeUndefined();
    memory.dispose();
    DeviceMemory.allocate(context, 1000);
    fake.failNext('cuMemAllocHost_v2', 2);
    expect(await errorOf(() => PinnedMemory.allocate(context, 64))).toMatchObject({
      code: 'DEVICE_OUT_OF_MEMORY',
      value: 64,
    });
    for (const bytes of [0, -1, 1.5, Number.NaN])
      expect((await errorOf(() => DeviceMemory.allocate(context, bytes))).code).toBe(
        'OPTION_INVALID',
      );
  });
});

test('pinned memory is read and written when the copy runs, and not after disposal', async () => {
  await withFake({}, async ({ context, stream }) => {
    const memory = DeviceMemory.allocate(context, 8);
    const up = PinnedMemory.allocate(context, 16);
    const down = PinnedMemory.allocate(context, 8);
    up.write(counting(16));
    memory.all.uploadFrom(stream, up, 8, 8);
    up.write(Uint8Array.of(99), 8);
    memory.all.downloadTo(stream, down);
    const before = [...down.read()];
    stream.synchronize();
    expect(before).not.toEqual([...down.read()]);
    expect([...down.read()]).toEqual([99, ...counting(7, 9)]);
    expect([...up.read(14)]).toEqual([14, 15]);
    for (const use of [() => up.write(counting(3), 14), () => up.read(15, 2), () => up.read(17)])
      expect((await errorOf(use)).code).toBe('OPTION_INVALID');
    up.dispose();
    up.dispose();
    for (const use of [() => up.address, () => up.read(), () => up.write(counting(1))])
      expect((await errorOf(use)).summary).toBe('the pinned memory was disposed');
  });
});

test('memory of a pool is freed in stream order', async () => {
  await withFake({}, ({ fake, context, stream }) => {
    const memory = DeviceMemory.allocateIn(stream, 64);
    const copy = DeviceMemory.allocate(context, 64);
    memory.all.fill(stream, 5);
    copy.all.copyFrom(stream, memory.all);
    memory.dispose();
    expect(fake.count('cuMemFreeAsync')).toBe(1);
    stream.synchronize();
    expect(copy.all.download()).toEqual(new Uint8Array(64).fill(5));
  });
});

test('memory of the caller is used and left alone; other pointers are refused', async () => {
  await withFake({ devices: [{}, {}] }, async ({ fake, cuda, context }) => {
    const { pointer } = DeviceMemory.allocate(context, 32);
    const callers = DeviceMemory.of(context, pointer + 8n, 8);
    callers.all.upload(counting(8));
    callers.dispose();
    expect(fake.count('cuMemFree_v2')).toBe(0);
    expect((await errorOf(() => callers.all.download())).code).toBe('DEVICE_RESOURCE_STATE');
    expect(await errorOf(() => DeviceMemory.of(context, 0x1234n, 8))).toMatchObject({
      code: 'TENSOR_INVALID',
      value: '0x1234',
      summary: 'the address is no device pointer',
    });
    const other = Context.primary(cuda.device(1));
    const foreign = DeviceMemory.allocate(other, 8);
    expect(await errorOf(() => DeviceMemory.of(context, foreign.pointer, 8))).toMatchObject({
      code: 'TENSOR_INVALID',
      summary: 'the device pointer belongs to another CUDA context',
    });
    other.dispose();
  });
});

test('work of a stream waits for the event of another one', async () => {
  await withFake({}, ({ context, stream }) => {
    const second = Stream.create(context, { priority: -1 });
    const memory = DeviceMemory.allocate(context, 4);
    const copy = DeviceMemory.allocate(context, 4);
    memory.all.upload(counting(4));
    memory.all.fill(stream, 7);
    const event = Event.create(context);
    event.record(stream);
    // Later than the event: the other stream does not wait for it.
    memory.all.fill(stream, 8);
    second.wait(event);
    copy.all.copyFrom(second, memory.all);
    expect(event.happened()).toBe(false);
    second.synchronize();
    expect(event.happened()).toBe(true);
    expect([...copy.all.download()]).toEqual([7, 7, 7, 7]);
    expect(stream.isIdle()).toBe(false);
    stream.synchronize();
    expect(stream.isIdle()).toBe(true);
  });
});

test('`finished` lets the thread go on and waits for what is in the stream', async () => {
  await withFake({}, async ({ fake, context, stream }) => {
    const memory = DeviceMemory.allocate(context, 4);
    for (let byte = 0; byte < 5; byte++) memory.all.fill(stream, byte);
    const finished = stream.finished();
    expect(stream.isIdle()).toBe(false);
    await finished;
    expect([...memory.all.download()]).toEqual([4, 4, 4, 4]);
    expect(fake.count('cuStreamSynchronize')).toBe(0);
    expect(fake.leaks().filter((leak) => leak === 'event')).toEqual([]);
  });
});

test('events with timing give the time between them', async () => {
  await withFake({}, async ({ context, stream }) => {
    const memory = DeviceMemory.allocate(context, 4);
    const [start, end] = [
      Event.create(context, { timing: true }),
      Event.create(context, { timing: true }),
    ];
    start.record(stream);
    memory.all.fill(stream, 1);
    memory.all.fill(stream, 2);
    end.record(stream);
    expect((await errorOf(() => end.millisecondsSince(start))).value).toBe(
      'CUDA_ERROR_NOT_READY (600)',
    );
    end.synchronize();
    expect(end.millisecondsSince(start)).toBe(3);
  });
});

test('streams and events of the caller are used and left alone', async () => {
  const fake = new FakeCuda();
  const cuda = await openCuda({ driver: fake.driver });
  const context = Context.primary(cuda.device());
  const owner = Stream.create(context);
  const ownersEvent = Event.create(context);
  const stream = Stream.of(context, owner.handle);
  const event = Event.of(context, ownersEvent.handle);
  const memory = DeviceMemory.allocate(context, 1);
  memory.all.fill(stream, 3);
  event.record(stream);
  expect(event.happened()).toBe(false);
  event.synchronize();
  expect([...memory.all.download()]).toEqual([3]);
  expect(context.resourceCount).toBe(3);
  stream.dispose();
  event.dispose();
  expect((await errorOf(() => event.record(owner))).summary).toBe('the event was disposed');
  owner.synchronize();
  expect(fake.count('cuStreamDestroy_v2') + fake.count('cuEventDestroy_v2')).toBe(0);
  context.dispose();
  expect(fake.count('cuStreamDestroy_v2') + fake.count('cuEventDestroy_v2')).toBe(2);
});
