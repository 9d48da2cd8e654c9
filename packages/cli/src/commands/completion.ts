/**
 * `lowbit-kv completion SHELL`: prints a script that completes commands, options and presets.
 */
import type { Command } from 'commander';
import { completionScript, type Shell } from '../completion/scripts.js';
import { shellWords } from '../completion/words.js';
import { builtinSchemes } from '../schemes/builtin-schemes.js';
import type { Terminal } from '../terminal.js';

export async function completion(
  terminal: Terminal,
  program: Command,
  shell: string,
): Promise<undefined> {
  const schemes = (await builtinSchemes()).map(({ scheme }) => scheme.id);
  terminal.print(completionScript(shell as Shell, shellWords(program, schemes)));
  return;
}
