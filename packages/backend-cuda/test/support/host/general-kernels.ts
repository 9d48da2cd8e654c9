/**
 * The general kernels for the fake driver.
 */
import { DECODE_JOB } from '../../../src/attend/structs.js';
import {
  GENERAL_ATTEND_KERNEL,
  GENERAL_ATTENTION,
  GENERAL_JOB,
  GENERAL_PACK_KERNELS,
} from '../../../src/general/structs.js';
import { type CompiledKernels, compileKernels } from './compile-kernels.js';

const CAREFUL = ['-O1', '-Wall', '-Wextra', '-Werror'];

/** `headers`: the folder of the kernels. */
export function buildGeneralKernels(
  headers?: string,
  flags: readonly string[] = CAREFUL,
): CompiledKernels {
  const parameters = GENERAL_PACK_KERNELS.map((name) => [name, [{ bytes: GENERAL_JOB.bytes }]]);
  return compileKernels('general.cpp', Object.fromEntries(parameters), {
    flags,
    ...(headers === undefined ? {} : { headers }),
  });
}

/** General attention. */
export function buildGeneralAttention(
  headers?: string,
  flags: readonly string[] = CAREFUL,
): CompiledKernels {
  const parameters = {
    [GENERAL_ATTEND_KERNEL]: [{ bytes: DECODE_JOB.bytes }, { bytes: GENERAL_ATTENTION.bytes }],
  };
  return compileKernels('general-attend.cpp', parameters, {
    flags,
    ...(headers === undefined ? {} : { headers }),
  });
}
