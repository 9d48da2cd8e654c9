/**
 * The log of `LOWBIT_KV_LOG`: events of backends as lines on stderr.
 */
import { type BackendEvent, type BackendObserver, eventText } from '@lowbit-kv/core';
import { isLogged, logLevelOf } from './log-level.js';
import type { Terminal } from './terminal.js';

/** Undefined where nothing is logged. */
export async function openLog(terminal: Terminal): Promise<BackendObserver | undefined> {
  if (!isLogged(terminal)) return undefined;
  const isDebug = logLevelOf(terminal) === 'debug';
  // Loaded for a log alone: it comes with all that draws reports.
  const { withoutHome } = await import('@lowbit-kv/report');
  return {
    values: isDebug,
    onEvent(event) {
      const level = levelOf(event);
      if (level === 'debug' && !isDebug) return;
      terminal.note(terminal.errColors.dim(`${level}: ${withoutHome(eventText(event))}`));
    },
  };
}

function levelOf({ type, phase }: BackendEvent): 'info' | 'debug' {
  const isStore = type === 'create-store' || (type === 'dispose' && phase === 'end');
  return isStore || phase === 'fault' ? 'info' : 'debug';
}
