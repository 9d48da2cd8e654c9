// Captured graphs, and the pinned ring that feeds them.
import { expect, test } from 'vitest';
import { DeviceMemory } from '../src/driver/device-memory.js';
import { Event } from '../src/driver/event.js';
import { Graph } from '../src/driver/graph.js';
import { Stream } from '../src/driver/stream.js';
import { UploadRing } from '../src/driver/upload-ring.js';
import {
  asFloats,
  asWords,
  errorOf,
  floats,
  INCREMENT,
  type Opened,
  SCALE,
  withFake,
} from './support/open-fake.js';

function counter({ context, module }: Opened) {
  const memory = DeviceMemory.allocate(context, 4);
  memory.all.upload(new Uint8Array(4));
  const launch = module
    .kernel('increment', ['pointer'])
    .prepare({ grid: [1], block: [1] })
    .set(0, memory.all);
  return { memory, launch, read: () => asWords(memory.all.download())[0] };
}

test('nothing runs while captured; each replay runs all of it', async () => {
  await withFake({ kernels: [INCREMENT] }, (opened) => {
    const { fake, stream } = opened;
    const { launch, read } = counter(opened);
    const graph = Graph.capture(stream, () => {
      launch.run(stream);
      launch.run(stream);
    });
    stream.synchronize();
    expect(read()).toBe(0);
    graph.run(stream);
    graph.run(stream);
    stream.synchronize();
    expect(read()).toBe(4);
    expect(fake.count('cuLaunchKernel')).toBe(2);
    expect(fake.count('cuGraphDestroy')).toBe(1);
    graph.dispose();
    graph.dispose();
    expect(fake.count('cuGraphExecDestroy')).toBe(1);
  });
});

test('replays keep the parameters of the capture', async () => {
  await withFake({ kernels: [SCALE] }, ({ context, stream, module }) => {
    const source = DeviceMemory.allocate(context, 4);
    const target = DeviceMemory.allocate(context, 4);
    source.all.upload(floats([3]));
    const launch = module
      .kernel('scale', ['pointer', 'pointer', 'u32', 'f32'])
      .prepare({ grid: [1], block: [1] })
      .set(0, target.all)
      .set(1, source.all)
      .set(2, 1)
      .set(3, 2);
    const graph = Graph.capture(stream, () => launch.run(stream));
    launch.set(3, 100);
    source.all.upload(floats([5]));
    graph.run(stream);
    stream.synchronize();
    expect(asFloats(target.all.download())).toEqual([10]);
  });
});

test('a stream that joins by an event is captured too, and has to be waited for', async () => {
  await withFake({ kernels: [INCREMENT] }, async (opened) => {
    const { context, stream } = opened;
    const { launch, read } = counter(opened);
    const side = Stream.create(context);
    const fork = Event.create(context);
    const join = Event.create(context);
    const work = (joins: boolean) => () => {
      fork.record(stream);
      side.wait(fork);
      expect(side.isCapturing()).toBe(true);
      launch.run(side);
      join.record(side);
      if (joins) stream.wait(join);
      launch.run(stream);
    };
    const graph = Graph.capture(stream, work(true));
    expect([stream.isCapturing(), side.isCapturing()]).toEqual([false, false]);
    graph.run(stream);
    stream.synchronize();
    expect(read()).toBe(2);
    expect(await errorOf(() => Graph.capture(stream, work(false)))).toMatchObject({
      code: 'BACKEND_FAILED',
      summary: expect.stringContaining('the work cannot be captured'),
    });
  });
});

test('work that waits breaks its capture, and the stream is in use afterwards', async () => {
  await withFake({ kernels: [INCREMENT] }, async (opened) => {
    const { fake, stream } = opened;
    const { launch, read } = counter(opened);
    const error = await errorOf(() =>
      Graph.capture(stream, () => {
        launch.run(stream);
        stream.synchronize();
      }),
    );
    expect(error.value).toBe('CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED (900)');
    expect(() =>
      Graph.capture(stream, () => {
        throw new Error('of the caller');
      }),
    ).toThrow('of the caller');
    expect(fake.leaks().filter((leak) => leak.startsWith('graph'))).toEqual([]);
    fake.failNext('cuGraphInstantiateWithFlags', 1);
    expect((await errorOf(() => Graph.capture(stream, () => launch.run(stream)))).summary).toMatch(
      'the graph cannot be made',
    );
    launch.run(stream);
    stream.synchronize();
    expect(read()).toBe(1);
    expect(
      await errorOf(() => Graph.capture(Stream.of(stream.context, 0n), () => undefined)),
    ).toMatchObject({
      summary: expect.stringContaining('the stream cannot be captured'),
    });
  });
});

test('a capture cannot wait for work outside of it', async () => {
  await withFake({}, async ({ context, stream }) => {
    const outside = Event.create(context);
    outside.record(Stream.create(context));
    const error = await errorOf(() => Graph.capture(stream, () => stream.wait(outside)));
    expect(error).toMatchObject({
      code: 'BACKEND_FAILED',
      cause: { call: 'cuStreamWaitEvent', result: 905 },
    });
    stream.wait(outside);
    stream.synchronize();
  });
});

test('memory of a pool is not allocated in a capture', async () => {
  await withFake({}, async ({ stream }) => {
    const error = await errorOf(() =>
      Graph.capture(stream, () => DeviceMemory.allocateIn(stream, 8)),
    );
    expect(error).toMatchObject({ code: 'DEVICE_RESOURCE_STATE', value: 8 });
  });
});

test('uploads arrive in stream order, and the array is free at once', async () => {
  await withFake({}, ({ fake, context, stream }) => {
    const ring = new UploadRing(context, { chunkBytes: 64, chunks: 3 });
    const memory = DeviceMemory.allocate(context, 400);
    const table = new Uint8Array(20);
    const expected: number[] = [];
    for (let upload = 0; upload < 20; upload++) {
      table.fill(upload + 1);
      expected.push(...table);
      ring.upload(stream, memory.range(20 * upload, 20), table);
    }
    expect(fake.count('cuMemAllocHost_v2')).toBe(3);
    stream.synchronize();
    expect([...memory.all.download()]).toEqual(expected);
    expect(ring.pinnedBytes).toBe(192);
    ring.dispose();
    ring.dispose();
    expect(ring.pinnedBytes).toBe(0);
  });
});

test('the ring grows only while chunks are in use, and then waits for the oldest', async () => {
  await withFake({}, ({ fake, context, stream }) => {
    const ring = new UploadRing(context, { chunkBytes: 32, chunks: 2 });
    const memory = DeviceMemory.allocate(context, 200);
    const upload = () => ring.upload(stream, memory.all, new Uint8Array(32));
    for (let step = 0; step < 10; step++) {
      upload();
      stream.synchronize();
    }
    // One chunk is filled while the other is found free.
    expect(ring.pinnedBytes).toBe(32);
    const events = fake.count('cuEventCreate');
    for (let step = 0; step < 10; step++) upload();
    expect(ring.pinnedBytes).toBe(64);
    expect(fake.count('cuEventSynchronize')).toBeGreaterThan(5);
    expect(fake.count('cuEventCreate') - events).toBeLessThanOrEqual(1);
    ring.upload(stream, memory.all, new Uint8Array(100));
    expect(ring.pinnedBytes).toBe(164);
    ring.upload(stream, memory.all, new Uint8Array(100));
    expect(ring.pinnedBytes).toBeLessThanOrEqual(264);
    ring.dispose();
  });
});

test('a chunk that two streams read is kept for both', async () => {
  await withFake({}, ({ context, stream }) => {
    const slow = Stream.create(context);
    const ring = new UploadRing(context, { chunkBytes: 32, chunks: 1 });
    const memory = DeviceMemory.allocate(context, 96);
    ring.upload(slow, memory.range(0, 16), new Uint8Array(16).fill(1));
    ring.upload(stream, memory.range(16, 16), new Uint8Array(16).fill(2));
    stream.synchronize();
    // The same chunk again: the copy of the slow stream has to run first.
    ring.upload(stream, memory.range(32, 32), new Uint8Array(32).fill(3));
    stream.synchronize();
    slow.synchronize();
    expect([...memory.range(0, 64).download()]).toEqual([
      ...new Array(16).fill(1),
      ...new Array(16).fill(2),
      ...new Array(32).fill(3),
    ]);
    ring.dispose();
  });
});

test('an upload in a capture is replayed as it was; the graph frees its pinned memory', async () => {
  await withFake({}, ({ fake, context, stream }) => {
    const ring = new UploadRing(context, { chunkBytes: 64 });
    const memory = DeviceMemory.allocate(context, 4);
    const graph = Graph.capture(stream, () =>
      ring.upload(stream, memory.all, Uint8Array.of(1, 2, 3, 4)),
    );
    expect(ring.pinnedBytes).toBe(0);
    for (let step = 0; step < 50; step++)
      ring.upload(stream, memory.all, new Uint8Array(4).fill(9));
    for (let replay = 0; replay < 2; replay++) {
      ring.upload(stream, memory.all, new Uint8Array(4).fill(7));
      graph.run(stream);
      stream.synchronize();
      expect([...memory.all.download()]).toEqual([1, 2, 3, 4]);
    }
    const pinned = () => fake.leaks().filter((leak) => leak.startsWith('pinned')).length;
    ring.dispose();
    expect(pinned()).toBe(1);
    graph.dispose();
    expect(pinned()).toBe(0);
    expect(() =>
      Graph.capture(stream, () => {
        ring.upload(stream, memory.all, Uint8Array.of(1));
        throw new Error('of the caller');
      }),
    ).toThrow('of the caller');
    expect(pinned()).toBe(0);
  });
});

test('in a capture of the caller the ring keeps the bytes', async () => {
  await withFake({}, ({ fake, context, stream }) => {
    const { driver } = fake;
    const ring = new UploadRing(context);
    const memory = DeviceMemory.allocate(context, 4);
    const callers = Stream.of(context, stream.handle);
    const [graph, exec] = [new BigUint64Array(1), new BigUint64Array(1)];
    context.run(() => {
      driver.cuStreamBeginCapture_v2(stream.handle, 2);
      ring.upload(callers, memory.all, Uint8Array.of(4, 3, 2, 1));
      driver.cuStreamEndCapture(stream.handle, graph);
      driver.cuGraphInstantiateWithFlags(exec, graph[0]!, 0n);
      driver.cuGraphLaunch(exec[0]!, stream.handle);
    });
    expect(ring.pinnedBytes).toBe(4);
    stream.synchronize();
    expect([...memory.all.download()]).toEqual([4, 3, 2, 1]);
    context.run(() => {
      driver.cuGraphExecDestroy(exec[0]!);
      driver.cuGraphDestroy(graph[0]!);
    });
    ring.dispose();
    expect(ring.pinnedBytes).toBe(0);
  });
});

test('a graph captured once follows a work list that grows in device memory', async () => {
  await withFake({ kernels: [SCALE] }, ({ fake, context, stream, module }) => {
    const ring = new UploadRing(context, { chunkBytes: 256, chunks: 4 });
    const [source, target] = [
      DeviceMemory.allocate(context, 16),
      DeviceMemory.allocate(context, 16),
    ];
    const launch = module
      .kernel('scale', ['pointer', 'pointer', 'u32', 'f32'])
      .prepare({ grid: [1], block: [32] })
      .set(0, target.all)
      .set(1, source.all)
      .set(2, 4)
      .set(3, 2);
    const graph = Graph.capture(stream, () => launch.run(stream));
    for (let step = 0; step < 1000; step++) {
      ring.upload(stream, source.all, floats([step, step + 1, step + 2, step + 3]));
      graph.run(stream);
    }
    stream.synchronize();
    expect(asFloats(target.all.download())).toEqual([1998, 2000, 2002, 2004]);
    expect(fake.count('cuLaunchKernel')).toBe(1);
    expect(ring.pinnedBytes).toBe(1024);
    ring.dispose();
  });
});
