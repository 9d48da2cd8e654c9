/** A temporary folder with a tiny model and texts, and the command run in it. Nothing outside of it is read or written. */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { openTokenizer } from '@lowbit-kv/model-onnx';
import { beforeAll } from 'vitest';
import { type HereOptions, type HereResult, runHere } from './run-here.js';
import { temporaryDirectory } from './temporary-directory.js';
import { tinyModelFiles, tinyText, writeFiles } from './tiny-model.js';

export interface TinyWorkspace {
  readonly directory: string;
  /** Of what the commands keep and fetch. */
  readonly cache: string;
  path(name: string): string;
  /** Of `text.txt`, its line ends read as LF. */
  textTokens(): Promise<number[]>;
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
    async textTokens() {
      const text = await readFile(path('text.txt'), 'utf8');
      return (await openTokenizer(path('model'))).encode(text.replaceAll('\r\n', '\n'));
    },
    here: (command, args, options = {}) =>
      runHere([command, '--model', 'model', '--threads', '1', ...args], {
        directory,
        ...options,
        environment: { XDG_CACHE_HOME: cache, ...options.environment },
      }),
  };
}
