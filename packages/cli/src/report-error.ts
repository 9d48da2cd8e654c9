/**
 * How a failure is told: code, message and next step for our own errors, one line for others.
 */
import type { LowbitKvError } from '@lowbit-kv/core';
import { logLevelOf } from './log-level.js';
import type { Terminal } from './terminal.js';

/** Recognises errors of any copy of core without loading core. */
function isLowbitKvError(error: unknown): error is LowbitKvError {
  return error instanceof Error && Symbol.for('@lowbit-kv/core:error') in error;
}

export function reportError(terminal: Terminal, error: unknown): void {
  const { bold, red, dim } = terminal.errColors;
  const debug = logLevelOf(terminal) === 'debug';
  if (isLowbitKvError(error)) {
    const reason = error.message.slice(`${error.code}: `.length, -` ${error.next}`.length);
    terminal.note(`${red('error')} ${bold(error.code)}: ${reason}`);
    terminal.note(`  ${error.next}`);
  } else {
    terminal.note(`${red('error')}: ${error instanceof Error ? error.message : String(error)}`);
    if (!debug) terminal.note(dim('  Set LOWBIT_KV_LOG=debug for the stack.'));
  }
  if (debug && error instanceof Error) terminal.note(stackOf(error));
}

function stackOf(error: Error): string {
  const stack = error.stack ?? error.message;
  return error.cause instanceof Error ? `${stack}\ncaused by: ${stackOf(error.cause)}` : stack;
}
