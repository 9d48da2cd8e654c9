/**
 * Runs one half of a long comparison in a second process of this command, so that both cores of a small machine work.
 */
import { spawn } from 'node:child_process';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { fingerprint, LowbitKvError } from '@lowbit-kv/core';
import {
  type CompareReport,
  type CompareShard,
  mergeShards,
  readShardFile,
  type ShardFile,
  type ShardPart,
  shardFileName,
  shardText,
} from '@lowbit-kv/harness';
import { ownVersion } from '../provenance.js';
import type { Terminal } from '../terminal.js';

const OWN: ShardPart = { index: 1, of: 2 };
const OTHER: ShardPart = { index: 2, of: 2 };

export interface OtherHalf {
  readonly shard: Promise<ShardFile>;
  /** Ends the process when it still runs. */
  stop(): void;
}

/**
 * The report of one process, to the byte. `args` say what is compared; the other half lies in a folder of `keptIn` until both
 * are done, so that it is not lost when this process ends.
 */
export async function compareInTwo(
  terminal: Terminal,
  args: readonly string[],
  keptIn: string,
  measure: (part: ShardPart) => Promise<CompareShard>,
): Promise<CompareReport> {
  const { directory } = terminal;
  const folder = join(keptIn, `half-${fingerprint({ args, directory, version: ownVersion() })}`);
  const other = compareElsewhere(terminal, args, folder);
  try {
    const own = { file: 'this process', shard: await measure(OWN) };
    const { report } = mergeShards([own, await other.shard]);
    await rm(folder, { recursive: true, force: true });
    return report as CompareReport;
  } finally {
    other.stop();
  }
}

/** The second shard of two, into `folder`. It fails with MEASUREMENT_INVALID when the process does. */
export function compareElsewhere(
  { self = [], directory, environment }: Terminal,
  args: readonly string[],
  folder: string,
): OtherHalf {
  const [command, ...prefix] = self as [string, ...string[]];
  const shard = ['--shard', shardText(OTHER), '--out', folder];
  // What the file and the environment say is in the arguments already.
  const child = spawn(command, [...prefix, 'compare', '--no-config-file', ...shard, ...args], {
    cwd: directory,
    env: withoutOptions(environment),
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  const errors: string[] = [];
  child.stderr.setEncoding('utf8').on('data', (text: string) => errors.push(text));
  const done = new Promise<void>((resolve, reject) => {
    const fail = (reason: string) =>
      reject(
        new LowbitKvError('MEASUREMENT_INVALID', {
          message: `the second process of the comparison failed: ${reason}`,
          value: errors.join('').trim(),
          valid: 'a shard',
          next: 'Run the schemes one by one with --scheme to see which fails.',
        }),
      );
    child.on('error', ({ message }) => fail(message));
    child.on('close', (code, signal) => {
      if (code === 0) resolve();
      else fail(signal === null ? `exit code ${code}` : `signal ${signal}`);
    });
  });
  const file = done.then(() => readShardFile(join(folder, shardFileName(OTHER))));
  // Awaited later: a failure of this process may come first.
  file.catch(() => undefined);
  return { shard: file, stop: () => void child.kill() };
}

/** The environment without variables of this command. */
function withoutOptions(environment: Terminal['environment']): Terminal['environment'] {
  const kept = Object.entries(environment).filter(
    ([name]) => !name.toUpperCase().startsWith('LOWBIT_KV_'),
  );
  return Object.fromEntries(kept);
}
