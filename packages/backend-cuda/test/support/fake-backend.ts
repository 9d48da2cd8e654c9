/**
 * The backend over the fake driver: packing, moving and general kernels run their own text on the host, as do codecs; the other
 * attention computes in float64.
 */
import koffi from 'koffi';
import { TARGETS, type Target, warpsOf } from '../../scripts/kernel-sources.js';
import { type CudaBackend, type CudaBackendOptions, cudaBackend } from '../../src/cuda-backend.js';
import type { ImageManifest } from '../../src/images.js';
import { BAND_INSTANCES, INSTANCES, ROWS_INSTANCES } from '../../src/instances.js';
import { type FakeLaunch, fakeAttention, fakeBandAttention } from './attend/fake-attention.js';
import type { FakeDevice } from './fake/devices.js';
import { FakeCuda } from './fake/fake-driver.js';
import { FAKE_FATBIN } from './fake/images.js';
import type { FakeKernel } from './fake/kernels.js';
import { type HostNvrtc, hostNvrtc } from './nvrtc/host-nvrtc.js';

const PART = { file: '', sources: '', sha256: '', kernels: {} };

const CARD = TARGETS.find(({ name }) => name === 'sm_90') as Target;

/** Part of an image. */
function partOf(instances: readonly Parameters<typeof warpsOf>[0][]) {
  return {
    ...PART,
    kernels: Object.fromEntries(
      instances.map((instance) => [
        instance.name,
        { warps: warpsOf(instance, CARD), registers: 168, spilledBytes: 0 },
      ]),
    ),
  };
}

const IMAGE: ImageManifest = {
  name: 'fake',
  kind: 'machineCode',
  capability: { major: 9, minor: 0 },
  minimumVersion: 12_000,
  parts: {
    attend: partOf(INSTANCES),
    rows: partOf(ROWS_INSTANCES),
    bands: partOf(BAND_INSTANCES),
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
  /** That the backend takes unless options say otherwise. */
  readonly nvrtc: HostNvrtc;
}

/** `host`: packing, moving and general kernels, and attention that is not to be the stand-in. `optionsFor`: further options, when the fake is there. */
export function fakeBackend(
  host: readonly FakeKernel[],
  optionsFor: (fake: FakeCuda) => CudaBackendOptions = () => ({}),
  device: FakeDevice = {},
): FakeBackend {
  const launches = new Map<string, FakeLaunch[]>();
  const ownOf = (name: string) => {
    const own: FakeLaunch[] = [];
    launches.set(name, own);
    return own;
  };
  const attention = [
    ...[...INSTANCES, ...ROWS_INSTANCES].map((instance) =>
      fakeAttention(instance, ownOf(instance.name)),
    ),
    ...BAND_INSTANCES.map((instance) => fakeBandAttention(instance, ownOf(instance.name))),
  ];
  const given = new Set(host.map(({ name }) => name));
  const fake = new FakeCuda({
    devices: [{ memoryBytes: 2 ** 34, ...device }],
    kernels: [...host, ...attention.filter(({ name }) => !given.has(name))],
    addressOf: (buffer) => BigInt(koffi.address(buffer)),
  });
  const kernels = { images: () => [IMAGE], bytes: () => FAKE_FATBIN };
  const nvrtc = hostNvrtc((own) => fake.addImage(own));
  const options = { driver: fake.driver, kernels, nvrtc: [nvrtc], ...optionsFor(fake) };
  return { fake, launches, backend: cudaBackend(options), nvrtc };
}
