/**
 * The programs that take tensors out of buffers of the caller.
 */
import { composeShader } from './compose.js';
import { type Program, program } from './programs.js';

/** Elements of an aligned run, see import-aligned.wgsl. */
export const RUN_ELEMENTS = 8;

export function importPrograms(): Readonly<Record<'half' | 'float' | 'aligned', Program>> {
  const parts = ['job', 'numbers', 'import-table'] as const;
  const bindings = ['read', 'write', 'write'] as const;
  const each = (isWide: boolean) =>
    program('takeTensor', composeShader({ WIDE: isWide }, [...parts, 'import']), bindings);
  return {
    half: each(false),
    float: each(true),
    aligned: program('takeRuns', composeShader({}, [...parts, 'import-aligned']), bindings),
  };
}
