/**
 * The programs that take tensors out of buffers of the caller.
 */
import { composeShader } from './compose.js';
import { type Program, program } from './programs.js';

export function importPrograms(): { readonly half: Program; readonly float: Program } {
  const of = (isWide: boolean) =>
    program('takeTensor', composeShader({ WIDE: isWide }, ['job', 'numbers', 'import']), [
      'read',
      'write',
      'write',
    ]);
  return { half: of(false), float: of(true) };
}
