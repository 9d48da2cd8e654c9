/**
 * The general kernels for the fake driver.
 */
import { DECODE_JOB } from '../../../src/attend/structs.js';
import type { ParameterType } from '../../../src/driver/parameter-block.js';
import {
  GENERAL_ATTEND_KERNEL,
  GENERAL_ATTENTION,
  GENERAL_JOB,
  GENERAL_PACK_KERNELS,
} from '../../../src/general/structs.js';
import { type CompiledKernels, compileKernels } from './compile-kernels.js';

type Parameters = Readonly<Record<string, readonly ParameterType[]>>;

export const CAREFUL = ['-O1', '-Wall', '-Wextra', '-Werror'];

const PACK_PARAMETERS: Parameters = Object.fromEntries(
  GENERAL_PACK_KERNELS.map((name) => [name, [{ bytes: GENERAL_JOB.bytes }]]),
);
const ATTEND_PARAMETERS: Parameters = {
  [GENERAL_ATTEND_KERNEL]: [{ bytes: DECODE_JOB.bytes }, { bytes: GENERAL_ATTENTION.bytes }],
};
/** Of all of them. */
export const GENERAL_PARAMETERS: Parameters = { ...PACK_PARAMETERS, ...ATTEND_PARAMETERS };

/** `headers`: the folder of the kernels. */
export function buildGeneralKernels(
  headers?: string,
  flags: readonly string[] = CAREFUL,
): CompiledKernels {
  return compileKernels('general.cpp', PACK_PARAMETERS, {
    flags,
    ...(headers === undefined ? {} : { headers }),
  });
}

/** General attention. */
export function buildGeneralAttention(
  headers?: string,
  flags: readonly string[] = CAREFUL,
): CompiledKernels {
  return compileKernels('general-attend.cpp', ATTEND_PARAMETERS, {
    flags,
    ...(headers === undefined ? {} : { headers }),
  });
}
