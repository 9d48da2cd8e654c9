/**
 * `lowbit-kv completion SHELL`: prints a script that completes commands, options and presets.
 */
import type { Command } from 'commander';
import { completionScript, type Shell } from '../completion/scripts.js';
import { shellWords } from '../completion/words.js';
import { BUILTIN_PACKAGES, builtinSchemes } from '../schemes/builtin-schemes.js';
import type { Terminal } from '../terminal.js';

export async function completion(
  terminal: Terminal,
  program: Command,
  shell: string,
): Promise<undefined> {
  const packages = BUILTIN_PACKAGES.map((name) => name.replace(/^.*scheme-/, ''));
  const presets = (await builtinSchemes()).map(({ scheme }) => scheme.id);
  const words = shellWords(program, [...packages, ...presets]);
  terminal.print(completionScript(shell as Shell, words));
  return;
}
