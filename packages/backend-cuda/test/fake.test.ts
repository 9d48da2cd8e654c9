// The fake driver finds what it is there to find.
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { expect, test } from 'vitest';
import type { CudaDriver } from '../src/driver/functions.js';
import { FakeCuda, type FakeOptions } from './support/fake/fake-driver.js';
import { FAKE_FATBIN } from './support/fake/images.js';
import { FakeViolation } from './support/fake/violation.js';
import { INCREMENT, STRAY } from './support/open-fake.js';

function open(options: FakeOptions = {}): { fake: FakeCuda; driver: CudaDriver } {
  const fake = new FakeCuda(options);
  fake.createContext();
  return { fake, driver: fake.driver };
}

/** The value that a call writes. */
function made(call: (out: BigUint64Array) => number): bigint {
  const out = new BigUint64Array(1);
  expect(call(out)).toBe(0);
  return out[0]!;
}

const bytes = (length: number) => new Uint8Array(length);

test('memory out of bounds, freed, freed twice, freed in the middle', () => {
  const { driver } = open();
  const pointer = made((out) => driver.cuMemAlloc_v2(out, 64));
  expect(driver.cuMemcpyHtoD_v2(pointer, bytes(64), 64)).toBe(0);
  expect(driver.cuMemcpyHtoD_v2(pointer + 1n, bytes(64), 64)).toBe(1);
  expect(driver.cuMemcpyHtoD_v2(pointer - 1n, bytes(1), 1)).toBe(1);
  expect(() => driver.cuMemcpyHtoD_v2(pointer, bytes(1), 2)).toThrow(FakeViolation);
  expect(driver.cuMemFree_v2(pointer + 8n)).toBe(1);
  expect(driver.cuMemFree_v2(pointer)).toBe(0);
  expect(driver.cuMemFree_v2(pointer)).toBe(1);
  expect(driver.cuMemcpyDtoH_v2(bytes(1), pointer, 1)).toBe(1);
  expect(driver.cuMemAlloc_v2(new BigUint64Array(1), 0)).toBe(1);
});

test('fresh memory is not zero', () => {
  const { driver } = open();
  const pointer = made((out) => driver.cuMemAlloc_v2(out, 4));
  const target = bytes(4);
  driver.cuMemcpyDtoH_v2(target, pointer, 4);
  expect([...target]).toEqual([0xa5, 0xa5, 0xa5, 0xa5]);
});

test('no context, another context, before cuInit', () => {
  const fresh = new FakeCuda().driver;
  expect(fresh.cuDeviceGet(new Int32Array(1), 0)).toBe(3);
  expect(fresh.cuMemAlloc_v2(new BigUint64Array(1), 1)).toBe(3);
  expect(fresh.cuInit(0)).toBe(0);
  expect(fresh.cuMemAlloc_v2(new BigUint64Array(1), 1)).toBe(201);
  const { fake, driver } = open({ devices: [{}, {}] });
  const stream = made((out) => driver.cuStreamCreate(out, 1));
  const pointer = made((out) => driver.cuMemAlloc_v2(out, 4));
  fake.createContext(1);
  expect(driver.cuStreamSynchronize(stream)).toBe(400);
  expect(driver.cuMemFree_v2(pointer)).toBe(1);
});

test('a kernel out of bounds is told later, and everything fails from then on', () => {
  const { driver } = open({ kernels: [STRAY] });
  const module = made((out) => driver.cuModuleLoadDataEx(out, FAKE_FATBIN, 0, bytes(0), bytes(0)));
  const name = new TextEncoder().encode('stray\0');
  const kernel = made((out) => driver.cuModuleGetFunction(out, module, name));
  const pointer = made((out) => driver.cuMemAlloc_v2(out, 4));
  const value = BigUint64Array.of(pointer);
  const table = BigUint64Array.of(driver.addressOf(value.buffer));
  const launch = (parameters: bigint) =>
    driver.cuLaunchKernel(kernel, 1, 1, 1, 1, 1, 1, 0, 0n, parameters, 0n);
  const two = BigUint64Array.of(table[0]!, table[0]!);
  expect(() => launch(driver.addressOf(two.buffer))).toThrow(FakeViolation);
  expect(() => launch(0n)).toThrow(FakeViolation);
  expect(driver.cuLaunchKernel(kernel, 1, 1, 1, 2000, 1, 1, 0, 0n, 0n, 0n)).toBe(1);
  expect(driver.cuLaunchKernel(kernel, 1, 1, 1, 1, 1, 1, 60_000, 0n, 0n, 0n)).toBe(1);
  expect(launch(driver.addressOf(table.buffer))).toBe(0);
  expect(driver.cuStreamSynchronize(0n)).toBe(700);
  expect(driver.cuMemAlloc_v2(new BigUint64Array(1), 1)).toBe(700);
  expect(driver.cuCtxSynchronize()).toBe(700);
});

test('a kernel that touches freed memory', () => {
  const { driver } = open({ kernels: [INCREMENT] });
  const module = made((out) => driver.cuModuleLoadDataEx(out, FAKE_FATBIN, 0, bytes(0), bytes(0)));
  const name = new TextEncoder().encode('increment\0');
  const kernel = made((out) => driver.cuModuleGetFunction(out, module, name));
  const value = BigUint64Array.of(made((out) => driver.cuMemAlloc_v2(out, 4)));
  const table = BigUint64Array.of(driver.addressOf(value.buffer));
  const launch = () =>
    driver.cuLaunchKernel(kernel, 1, 1, 1, 1, 1, 1, 0, 0n, driver.addressOf(table.buffer), 0n);
  expect(launch()).toBe(0);
  // Freeing waits for the kernel.
  expect(driver.cuMemFree_v2(value[0]!)).toBe(0);
  expect(launch()).toBe(0);
  expect(driver.cuStreamSynchronize(0n)).toBe(700);
});

test('a copy whose pinned memory is gone when it runs ends the test', () => {
  const { driver } = open();
  const stream = made((out) => driver.cuStreamCreate(out, 1));
  const pointer = made((out) => driver.cuMemAlloc_v2(out, 4));
  const host = made((out) => driver.cuMemAllocHost_v2(out, 4));
  expect(driver.cuMemcpyHtoDAsync_v2(pointer, host, 4, stream)).toBe(0);
  expect(driver.cuMemFreeHost(host)).toBe(0);
  expect(() => driver.cuStreamSynchronize(stream)).toThrow(FakeViolation);
  expect(() => driver.cuMemcpyDtoHAsync_v2(bytes(4), pointer, 4, stream)).toThrow(FakeViolation);
  expect(() => driver.cuMemcpyHtoDAsync_v2(pointer, host, 4, stream)).toThrow(FakeViolation);
});

test('memory that is freed, or whose buffer nobody has, is not held: a soak would take it for a leak', async () => {
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as () => void;
  const { driver } = open();
  const size = 2 ** 20;
  const heldNow = () => {
    collect();
    return process.memoryUsage().arrayBuffers;
  };
  const before = heldNow();
  for (let i = 0; i < 64; i++) {
    driver.addressOf(new ArrayBuffer(size));
    expect(driver.cuMemFreeHost(made((out) => driver.cuMemAllocHost_v2(out, size)))).toBe(0);
    expect(driver.cuMemFree_v2(made((out) => driver.cuMemAlloc_v2(out, size)))).toBe(0);
  }
  // What a WeakRef gave stays until a later turn, and V8 counts memory that it frees beside us when it is done.
  await expect.poll(() => heldNow() - before, { timeout: 10_000 }).toBeLessThan(16 * size);
});

test('faults come at the call they were asked for, once', () => {
  const { fake, driver } = open();
  fake.failNext('cuMemAlloc_v2', 2, 2);
  const results = [1, 2, 3].map(() => driver.cuMemAlloc_v2(new BigUint64Array(1), 1));
  expect(results).toEqual([0, 2, 0]);
  expect(fake.count('cuMemAlloc_v2')).toBe(3);
});

test('everything that is left is reported', () => {
  const { fake, driver } = open();
  const context = made((out) => driver.cuDevicePrimaryCtxRetain(out, 0));
  made((out) => driver.cuMemAlloc_v2(out, 8));
  made((out) => driver.cuMemAllocHost_v2(out, 9));
  made((out) => driver.cuEventCreate(out, 2));
  const stream = made((out) => driver.cuStreamCreate(out, 1));
  driver.cuStreamBeginCapture_v2(stream, 2);
  const graph = made((out) => driver.cuStreamEndCapture(stream, out));
  made((out) => driver.cuGraphInstantiateWithFlags(out, graph, 0n));
  expect(context).not.toBe(fake.currentContext);
  expect(fake.leaks()).toEqual([
    'device memory of 8 bytes',
    'pinned memory of 9 bytes',
    'event',
    'stream',
    'graph',
    'graphExec',
    'primary context of device 0, retained 1',
    '1 contexts left current',
  ]);
});
