/**
 * `lowbit-kv backends`: what can execute schemes here, and why others cannot.
 */
import { examineBackends } from '../doctor/backend-report.js';
import type { Terminal } from '../terminal.js';

export interface BackendsOptions {
  readonly json?: boolean;
}

export async function backends(terminal: Terminal, options: BackendsOptions): Promise<undefined> {
  terminal.status('probing ...');
  const { backends: found } = await examineBackends();
  terminal.clearStatus();
  if (options.json === true) {
    terminal.print(JSON.stringify({ reportVersion: 1, backends: found }, null, 2));
    return;
  }
  const { bold, dim, yellow } = terminal.outColors;
  for (const { id, device, reason, next } of found) {
    if (reason === null) terminal.print(`${bold(id)}  ${device}`);
    else
      terminal.print(
        `${bold(id)}  ${yellow('not here')}: ${reason}${dim(next === null ? '' : `\n  fix: ${next}`)}`,
      );
  }
  return;
}
