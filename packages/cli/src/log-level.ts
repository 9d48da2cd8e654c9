/**
 * `LOWBIT_KV_LOG`: how much is told on stderr of what backends are given.
 */
import type { Terminal } from './terminal.js';

export const LOG_VARIABLE = 'LOWBIT_KV_LOG';

/** `info`: stores with their plans and sizes, and faults. `debug`: every call with its inputs, and the stacks of errors. */
export const LOG_LEVELS = ['off', 'info', 'debug'] as const;

export type LogLevel = (typeof LOG_LEVELS)[number];

/** Null for what is no level. */
export function logLevelOf({ environment }: Pick<Terminal, 'environment'>): LogLevel | null {
  const text = (environment[LOG_VARIABLE] ?? '').toLowerCase();
  return text === '' ? 'off' : (LOG_LEVELS.find((level) => level === text) ?? null);
}

export function isLogged(terminal: Pick<Terminal, 'environment'>): boolean {
  return !['off', null].includes(logLevelOf(terminal));
}
