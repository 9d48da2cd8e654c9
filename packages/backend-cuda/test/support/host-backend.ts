/**
 * The backend over the fake driver with general kernels that the host runs, for plans that no kernel of their own takes.
 */
import type { FakeKernel } from './fake/kernels.js';
import { type FakeBackend, fakeBackend } from './fake-backend.js';
import { buildGeneralAttention, buildGeneralKernels } from './host/general-kernels.js';
import { buildHostKernels } from './host/host-kernels.js';

export interface HostBackend extends FakeBackend {
  /** Disposes the backend; gives what is left in the driver. */
  readonly close: () => string[];
}

let kernels: readonly FakeKernel[] | undefined;

/** Compiled once, and removed when the process ends. */
function hostKernels(): readonly FakeKernel[] {
  if (kernels !== undefined) return kernels;
  const libraries = [
    buildHostKernels([]),
    buildGeneralKernels(undefined, ['-O2']),
    buildGeneralAttention(),
  ];
  process.once('exit', () => {
    for (const library of libraries) library.remove();
  });
  kernels = libraries.flatMap((library) => [...library.kernels]);
  return kernels;
}

/** Needs a C++ compiler. */
export function hostBackend(): HostBackend {
  const opened = fakeBackend(hostKernels());
  return {
    ...opened,
    close: () => {
      opened.backend.dispose();
      return opened.fake.leaks();
    },
  };
}
