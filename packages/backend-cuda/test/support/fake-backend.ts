/**
 * The backend over the fake driver: packing, moving and general kernels run their own text on the host, as do codecs; the other
 * attention computes in float64.
 */
import koffi from 'koffi';
import { type CudaBackend, type CudaBackendOptions, cudaBackend } from '../../src/cuda-backend.js';
import type { ImageManifest } from '../../src/images.js';
import { BAND_INSTANCES, INSTANCES } from '../../src/instances.js';
import { fakeAttention, fakeBandAttention } from './attend/fake-attention.js';
import { FakeCuda } from './fake/fake-driver.js';
import { FAKE_FATBIN } from './fake/images.js';
import type { FakeKernel } from './fake/kernels.js';
import { type HostNvrtc, hostNvrtc } from './nvrtc/host-nvrtc.js';

const ATTENTION = [
  ...INSTANCES.map((instance) => fakeAttention(instance)),
  ...BAND_INSTANCES.map(fakeBandAttention),
];

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
        INSTANCES.map(({ name, warps }) => [name, { warps, registers: 168, spilledBytes: 0 }]),
      ),
    },
    bands: {
      ...PART,
      kernels: Object.fromEntries(
        BAND_INSTANCES.map(({ name, warps }) => [name, { warps, registers: 168, spilledBytes: 0 }]),
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
  /** That the backend takes unless options say otherwise. */
  readonly nvrtc: HostNvrtc;
}

/** `host`: packing, moving and general kernels. `optionsFor`: further options, when the fake is there. */
export function fakeBackend(
  host: readonly FakeKernel[],
  optionsFor: (fake: FakeCuda) => CudaBackendOptions = () => ({}),
): FakeBackend {
  const fake = new FakeCuda({
    devices: [{ memoryBytes: 2 ** 34 }],
    kernels: [...host, ...ATTENTION],
    addressOf: (buffer) => BigInt(koffi.address(buffer)),
  });
  const kernels = { images: () => [IMAGE], bytes: () => FAKE_FATBIN };
  const nvrtc = hostNvrtc((own) => fake.addImage(own));
  const options = { driver: fake.driver, kernels, nvrtc: [nvrtc], ...optionsFor(fake) };
  return { fake, backend: cudaBackend(options), nvrtc };
}
