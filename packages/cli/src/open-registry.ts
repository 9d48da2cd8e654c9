/**
 * The schemes and the backend that a command works with; backends are logged where that is asked for.
 */
import { createLowbitKv, type LowbitKv, type Scheme } from '@lowbit-kv/core';
import { createBackends } from './backends.js';
import { openLog } from './log.js';
import type { Terminal } from './terminal.js';

/** `backend`: a value of `--backend`. Throws what registering and opening throw. */
export async function openRegistry(
  terminal: Terminal,
  schemes: readonly Scheme[],
  backend: string,
): Promise<LowbitKv> {
  const observer = await openLog(terminal);
  return createLowbitKv({
    schemes,
    backends: await createBackends(backend),
    ...(observer !== undefined && { observer }),
  });
}
