/** A temporary folder with a tiny model and texts, and the command run in it. Nothing outside of it is read or written. */
import { join } from 'node:path';
import { beforeAll } from 'vitest';
import { type HereOptions, type HereResult, runHere } from './run-here.js';
import { temporaryDirectory } from './temporary-directory.js';
import { tinyModelFiles, tinyText, writeFiles } from './tiny-model.js';

export interface TinyWorkspace {
  readonly directory: string;
  /** Of what the commands keep and fetch. */
  readonly cache: string;
  path(name: string): string;
  /** The command over the folder `model`. */
  here(command: string, args: readonly string[], options?: HereOptions): Promise<HereResult>;
}

/** `model`, and `text.txt` with CRLF line ends. */
export function tinyWorkspace(): TinyWorkspace {
  const directory = temporaryDirectory();
  const cache = join(directory, 'cache');
  const path = (name: string) => join(directory, name);
  beforeAll(async () => {
    await writeFiles(path('model'), tinyModelFiles());
    await writeFiles(directory, { 'text.txt': tinyText(1) });
  });
  return {
    directory,
    cache,
    path,
    here: (command, args, options = {}) =>
      runHere([command, '--model', 'model', '--threads', '1', ...args], {
        directory,
        ...options,
        environment: { XDG_CACHE_HOME: cache, ...options.environment },
      }),
  };
}
