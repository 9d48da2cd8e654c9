/**
 * Kernels that do nothing, for tests of what happens around them.
 */
import { BAND_JOB_BYTES, DECODE_JOB } from '../../src/attend/structs.js';
import type { ParameterType } from '../../src/driver/parameter-block.js';
import {
  GENERAL_ATTEND_KERNEL,
  GENERAL_ATTENTION,
  GENERAL_JOB,
  GENERAL_PACK_KERNELS,
} from '../../src/general/structs.js';
import {
  APPEND_INSTANCES,
  BAND_INSTANCES,
  INSTANCES,
  ROWS_INSTANCES,
} from '../../src/instances.js';
import { APPEND_JOB, WRITE_JOB } from '../../src/store/append-job.js';
import { IMPORT_JOB } from '../../src/store/moves.js';
import type { FakeKernel } from './fake/kernels.js';

function stub(name: string, ...sizes: readonly number[]): FakeKernel {
  const parameters = sizes.map((bytes): ParameterType => ({ bytes }));
  return { name, parameters, ptxVersion: 90, run: () => undefined };
}

/** All kernels. */
export const STUBS: readonly FakeKernel[] = [
  ...APPEND_INSTANCES.map(({ name }) => stub(name, APPEND_JOB.bytes, APPEND_JOB.bytes)),
  ...[...INSTANCES, ...ROWS_INSTANCES].map(({ name }) => stub(name, DECODE_JOB.bytes)),
  ...BAND_INSTANCES.map(({ name }) => stub(name, BAND_JOB_BYTES)),
  stub('import_tensor', IMPORT_JOB.bytes),
  stub('write_rows', WRITE_JOB.bytes, WRITE_JOB.bytes),
  ...GENERAL_PACK_KERNELS.map((name) => stub(name, GENERAL_JOB.bytes)),
  stub(GENERAL_ATTEND_KERNEL, DECODE_JOB.bytes, GENERAL_ATTENTION.bytes),
];
