// Opening the driver, and what `doctor` says of it.
import { expect, test } from 'vitest';
import { openCuda } from '../src/driver/cuda.js';
import type { KernelImage } from '../src/driver/kernel-images.js';
import { chooseImage, requireImage } from '../src/driver/kernel-images.js';
import { libraryNames, openLibrary } from '../src/driver/library.js';
import { probeCuda } from '../src/driver/probe.js';
import { cudaVersionText, driverAdvice } from '../src/driver/version.js';
import { kernelManifest, partBytes } from '../src/images.js';
import { cudaBackend, probe } from '../src/index.js';
import { FakeCuda, type FakeOptions } from './support/fake/fake-driver.js';
import { errorOf } from './support/open-fake.js';

const images: readonly KernelImage[] = [
  {
    name: 'sm_80',
    kind: 'machineCode',
    capability: { major: 8, minor: 0 },
    minimumVersion: 11_080,
  },
  {
    name: 'sm_89',
    kind: 'machineCode',
    capability: { major: 8, minor: 9 },
    minimumVersion: 11_080,
  },
  {
    name: 'sm_90',
    kind: 'machineCode',
    capability: { major: 9, minor: 0 },
    minimumVersion: 12_000,
  },
  { name: 'ptx_80', kind: 'ptx', capability: { major: 8, minor: 0 }, minimumVersion: 11_080 },
];

const probed = (options: FakeOptions, device?: number) =>
  probeCuda({
    driver: new FakeCuda(options).driver,
    images: () => images,
    environment: {},
    ...(device === undefined ? {} : { device }),
  });

test('the library is looked for where each system has it', () => {
  expect(libraryNames('linux')).toEqual(['libcuda.so.1', '/usr/lib/wsl/lib/libcuda.so.1']);
  expect(libraryNames('win32')).toEqual(['nvcuda.dll']);
  expect(libraryNames('darwin')).toEqual([]);
});

test('no library: every place that was tried, and what to install', async () => {
  const error = await errorOf(() => openLibrary({ library: '/nowhere/libcuda.so.1' }));
  expect(error).toMatchObject({
    code: 'BACKEND_UNAVAILABLE',
    summary: 'the library of the NVIDIA driver does not load',
    value: expect.stringContaining('/nowhere/libcuda.so.1: '),
    valid: ['/nowhere/libcuda.so.1'],
    next: expect.stringContaining('Install NVIDIA driver 520 or newer (CUDA 11.8).'),
  });
  expect(await errorOf(() => openLibrary({ platform: 'darwin' }))).toMatchObject({
    code: 'BACKEND_UNAVAILABLE',
    value: 'darwin',
  });
  expect(await probeCuda({ library: '/nowhere/libcuda.so.1', images: () => images })).toEqual({
    ok: false,
    reason: expect.stringMatching(/library of the NVIDIA driver does not load \(\/nowhere/),
    next: expect.stringContaining('driver 520'),
  });
});

test('a driver that is too old', async () => {
  expect(await probed({ version: 11_040 })).toEqual({
    ok: false,
    reason: 'the NVIDIA driver is too old (a driver for CUDA 11.4)',
    next: 'Install NVIDIA driver 520 or newer (CUDA 11.8).',
  });
  const { driver } = new FakeCuda({ version: 12_040 });
  const error = await errorOf(() => openCuda({ driver, minimumVersion: 13_000 }));
  expect(error).toMatchObject({
    code: 'BACKEND_UNAVAILABLE',
    value: 'a driver for CUDA 12.4',
    valid: 'a driver for CUDA 13.0 or newer',
    next: 'Install NVIDIA driver 580 or newer (CUDA 13.0).',
  });
  expect((await openCuda({ driver, minimumVersion: 12_040 })).version).toBe(12_040);
});

test('no card, and cards that a variable hides', async () => {
  expect(await probed({ devices: [] })).toEqual({
    ok: false,
    reason: 'the NVIDIA driver finds no card (0)',
    next: expect.stringContaining('nvidia-smi'),
  });
  const { driver } = new FakeCuda({ devices: [] });
  const environment = { CUDA_VISIBLE_DEVICES: '' };
  expect(await probeCuda({ driver, images: () => images, environment })).toEqual({
    ok: false,
    reason:
      'the NVIDIA driver finds no card that CUDA_VISIBLE_DEVICES leaves (CUDA_VISIBLE_DEVICES=)',
    next: expect.stringContaining('Unset CUDA_VISIBLE_DEVICES'),
  });
});

test('a driver that does not start says why', async () => {
  const fake = new FakeCuda();
  fake.failNext('cuInit', 803);
  expect(await errorOf(() => openCuda({ driver: fake.driver }))).toMatchObject({
    code: 'BACKEND_UNAVAILABLE',
    summary: 'the NVIDIA driver does not start: system driver mismatch',
    value: 'CUDA_ERROR_SYSTEM_DRIVER_MISMATCH (803)',
  });
});

test('a good card: what it is, its driver, and the kernels it takes', async () => {
  const card = { name: 'NVIDIA H200', memoryBytes: 150_109_106_995 };
  expect(await probed({ devices: [card] })).toEqual({
    ok: true,
    device:
      'NVIDIA H200 (compute capability 9.0, 139.8 GiB, 132 multiprocessors), driver for CUDA 13.0, kernels sm_90',
  });
});

test('several cards: the first is used, the others are named', async () => {
  const devices = [{ name: 'A' }, { name: 'B', capability: 70 }, { name: 'C', capability: 120 }];
  expect(await probed({ devices })).toMatchObject({
    ok: true,
    device: expect.stringMatching(
      /^A .*sm_90; device 1: B .*, no kernels for it; device 2: C .*ptx_80$/,
    ),
  });
  expect(await probed({ devices }, 2)).toMatchObject({
    ok: true,
    device: expect.stringMatching(/^C /),
  });
  expect(await probed({ devices }, 1)).toEqual({
    ok: false,
    reason: expect.stringContaining(
      'no kernel image runs on compute capability 7.0 (there are sm_80',
    ),
    next: 'Use device 0, A.',
  });
  expect(await probed({ devices }, 3)).toMatchObject({
    ok: false,
    reason: expect.stringContaining('(3)'),
  });
});

test('a card below every image', async () => {
  expect(await probed({ devices: [{ capability: 75 }] })).toMatchObject({
    ok: false,
    next: 'Use a card of compute capability 8.0 or higher, or another backend.',
  });
});

test('images that cannot be read are a reason, not an exception', async () => {
  const unread = () => kernelManifest(new URL('file:///nowhere/images/')).images;
  expect(await probeCuda({ driver: new FakeCuda().driver, images: unread })).toEqual({
    ok: false,
    reason: expect.stringContaining('file:///nowhere/images/manifest.json'),
    next: expect.stringContaining('Install the package again'),
  });
});

test('the current context takes no device: it has one', async () => {
  const { driver } = new FakeCuda({ devices: [{}, {}] });
  for (const device of [0, 1]) {
    const options = { driver, context: 'current', device } as const;
    expect(await errorOf(() => cudaBackend(options).open())).toMatchObject({
      code: 'OPTION_INVALID',
      summary: 'the current context has a device of its own, and another is named',
      value: device,
      valid: "no `device` beside `context: 'current'`",
      next: expect.stringContaining('Leave `device` out'),
    });
    expect(await cudaBackend(options).probe()).toEqual({
      ok: false,
      reason: `the current context has a device of its own, and another is named (${device})`,
      next: expect.stringContaining('Leave `device` out'),
    });
  }
  const device = { driver, device: 1 };
  expect(await cudaBackend(device).probe()).toMatchObject({ ok: true });
  const context = { driver, context: 'other' as 'current' };
  expect(await errorOf(() => cudaBackend(context).open())).toMatchObject({
    code: 'OPTION_INVALID',
    value: 'other',
    valid: ['primary', 'current'],
  });
});

test.each(['missing.br', 'manifest.json'])('a part that cannot be read: %s', async (file) => {
  expect((await errorOf(() => partBytes({ file }))).code).toBe('KERNEL_IMAGE_INVALID');
});

test('the kernels of this package run on a good card', async () => {
  expect(await probe({ driver: new FakeCuda().driver })).toEqual({
    ok: true,
    device: expect.stringMatching(/^Fake H200 .*, kernels sm_90$/),
  });
});

test.each([
  [80, 13_000, 'sm_80'],
  [86, 13_000, 'sm_80'],
  [89, 13_000, 'sm_89'],
  [90, 13_000, 'sm_90'],
  [90, 11_080, 'ptx_80'],
  [100, 13_000, 'ptx_80'],
  [75, 13_000, undefined],
])('compute capability %i with CUDA %i takes %s', (capability, version, name) => {
  const card = { major: Math.floor(capability / 10), minor: capability % 10 };
  expect(chooseImage(images, card, version).image?.name).toBe(name);
});

test('images that need a newer driver say which', () => {
  const choice = chooseImage(images.slice(2, 3), { major: 9, minor: 0 }, 11_080);
  expect(choice).toMatchObject({
    image: undefined,
    reason: expect.stringContaining(
      'need a driver for CUDA 12.0 or newer, and this one is for CUDA 11.8',
    ),
    next: 'Install NVIDIA driver 525 or newer (CUDA 12.0).',
  });
});

test('a card that no image runs on is an error of who needs one', async () => {
  const devices = [{ name: 'Old', capability: 75 }, {}];
  const cuda = await openCuda({ driver: new FakeCuda({ devices }).driver });
  expect(requireImage(images, cuda.device(1)).name).toBe('sm_90');
  expect(await errorOf(() => requireImage(images, cuda.device(0)))).toMatchObject({
    code: 'BACKEND_UNAVAILABLE',
    value: 'Old, compute capability 7.5',
    valid: ['sm_80', 'sm_89', 'sm_90', 'ptx_80'],
    next: 'Use a card of compute capability 8.0 or higher, or another backend.',
  });
});

test('versions in words', () => {
  expect(cudaVersionText(12_040)).toBe('12.4');
  expect(driverAdvice(12_070)).toBe('Install NVIDIA driver 570 or newer (CUDA 12.7).');
  expect(driverAdvice(19_000)).toBe('Install an NVIDIA driver for CUDA 19.0 or newer.');
});

test('device properties', async () => {
  const devices = [{}, { name: 'Fake 4090', capability: 89, multiprocessors: 128 }];
  const cuda = await openCuda({ driver: new FakeCuda({ devices }).driver });
  expect(cuda.devices().map(({ properties }) => properties)).toMatchObject([
    {
      name: 'Fake H200',
      uuid: 'GPU-00010203-0405-0607-0809-0a0b0c0d0e0f',
      computeCapability: { major: 9, minor: 0 },
      memoryBytes: 2 ** 30,
      limits: { multiprocessors: 132, sharedBytesPerBlockOptIn: 232_448, warpSize: 32 },
    },
    {
      name: 'Fake 4090',
      uuid: expect.stringMatching(/^GPU-10111213-/),
      computeCapability: { major: 8, minor: 9 },
      limits: { multiprocessors: 128 },
    },
  ]);
  expect(await errorOf(() => cuda.device(2))).toMatchObject({
    code: 'OPTION_INVALID',
    value: 2,
    valid: [0, 1],
  });
});
