// `lowbit-kv doctor` on machines with a CUDA driver: a libcuda in C takes its place.
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { buildFakeLibrary, compiler } from '../../backend-cuda/test/support/compile-fake.js';
import { runCli } from './support/run-cli.js';

describe.skipIf(compiler === undefined || process.platform !== 'linux')('a CUDA driver', () => {
  let built: ReturnType<typeof buildFakeLibrary>;

  beforeAll(() => {
    built = buildFakeLibrary();
  });

  afterAll(() => built.remove());

  const doctor = async (environment: Readonly<Record<string, string>>) => {
    const { stdout } = await runCli(['doctor', '--json'], {
      environment: { LD_LIBRARY_PATH: built.folder, ...environment },
    });
    const { backends } = JSON.parse(stdout) as { backends: { id: string }[] };
    return backends.find(({ id }) => id === 'cuda');
  };

  test('that is too old', async () => {
    expect(await doctor({ FAKE_CUDA_VERSION: '11040' })).toEqual({
      id: 'cuda',
      required: false,
      device: null,
      reason: 'the NVIDIA driver is too old (a driver for CUDA 11.4)',
      next: 'Install NVIDIA driver 520 or newer (CUDA 11.8).',
    });
  });

  test('with a card, while there are no kernels for it', async () => {
    expect(await doctor({})).toMatchObject({
      device: null,
      reason:
        'Fake card 0 (compute capability 9.0, 140.0 GiB, 1016 multiprocessors), driver for CUDA 13.0: this version of the package has no kernels',
    });
  });
});
