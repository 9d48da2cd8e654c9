/**
 * The backend over the fake driver: packing and moving run the kernels' own text on the host, attention computes in float64.
 */
import koffi from 'koffi';
import { TARGETS, type Target, warpsOf } from '../../scripts/kernel-sources.js';
import { type CudaBackend, type CudaBackendOptions, cudaBackend } from '../../src/cuda-backend.js';
import type { ImageManifest } from '../../src/images.js';
import { INSTANCES, ROWS_INSTANCES } from '../../src/instances.js';
import { type FakeLaunch, fakeAttention } from './attend/fake-attention.js';
import { FakeCuda } from './fake/fake-driver.js';
import { FAKE_FATBIN } from './fake/images.js';
import type { FakeKernel } from './fake/kernels.js';

const CARD = TARGETS.find(({ name }) => name === 'sm_90') as Target;

const PART = { file: '', sources: '', sha256: '', kernels: {} };

const IMAGE: ImageManifest = {
  name: 'fake',
  kind: 'machineCode',
  capability: { major: 9, minor: 0 },
  minimumVersion: 12_000,
  parts: {
    attend: {
      ...PART,
      kernels: Object.fromEntries(
        [...INSTANCES, ...ROWS_INSTANCES].map((instance) => [
          instance.name,
          { warps: warpsOf(instance, CARD), registers: 168, spilledBytes: 0 },
        ]),
      ),
    },
    pack: PART,
    move: PART,
    general: PART,
  },
};

export interface FakeBackend {
  readonly fake: FakeCuda;
  readonly backend: CudaBackend;
  /** Of attention, by kernel. */
  readonly launches: ReadonlyMap<string, readonly FakeLaunch[]>;
}

/** `host`: packing, moving and general kernels. `optionsFor`: further options, when the fake is there. */
export function fakeBackend(
  host: readonly FakeKernel[],
  optionsFor: (fake: FakeCuda) => CudaBackendOptions = () => ({}),
): FakeBackend {
  const launches = new Map<string, FakeLaunch[]>();
  const attention = [...INSTANCES, ...ROWS_INSTANCES].map((instance) => {
    const own: FakeLaunch[] = [];
    launches.set(instance.name, own);
    return fakeAttention(instance, own);
  });
  const fake = new FakeCuda({
    devices: [{ memoryBytes: 2 ** 34 }],
    kernels: [...host, ...attention],
    addressOf: (buffer) => BigInt(koffi.address(buffer)),
  });
  const kernels = { images: () => [IMAGE], bytes: () => FAKE_FATBIN };
  return {
    fake,
    launches,
    backend: cudaBackend({ driver: fake.driver, kernels, ...optionsFor(fake) }),
  };
}
