/**
 * The folder of somebody who follows the documents: what they name is there, small enough to run in seconds.
 */
import { copyFileSync, cpSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { run, Terminal } from 'lowbit-kv';
import { writeTinyCapture } from '../../../packages/cli/test/support/tiny-capture.js';
import {
  tinyModelFiles,
  tinyText,
  writeFiles,
} from '../../../packages/cli/test/support/tiny-model.js';
import { ROOT } from './blocks.js';

export interface Ran {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** Small sizes for what a line does not say; they are defaults of the options. */
const SIZES = {
  LOWBIT_KV_POSITIONS: '2',
  LOWBIT_KV_SINKS: '4',
  LOWBIT_KV_RECENT: '16',
  LOWBIT_KV_THREADS: '1',
  LOWBIT_KV_WINDOWS: '1',
  LOWBIT_KV_WINDOW: '64',
  LOWBIT_KV_TOKENS: '64',
  LOWBIT_KV_CALIBRATION_TOKENS: '64',
  LOWBIT_KV_MAX_TOKENS: '8',
};

export class ReaderFolder {
  readonly folder: string;
  readonly #ran = new Map<string, Promise<Ran>>();

  constructor(folder: string) {
    this.folder = folder;
  }

  path(name: string): string {
    return join(this.folder, name);
  }

  /** Models, captures, texts, reports, shards and a scheme, by the names that documents give them. */
  async fill(): Promise<void> {
    const small = tinyModelFiles();
    await writeFiles(this.path('SmolLM2-135M-Instruct'), small);
    await writeFiles(this.path('DIR'), tinyModelFiles({ layers: 21 }));
    await writeFiles(this.folder, {
      'config.json': small['config.json'] ?? '',
      'wiki.txt': tinyText(1),
      'wiki.test.raw': tinyText(1),
      'train.txt': tinyText(2),
    });
    await writeTinyCapture(this.path('my-model.safetensors'), {}, 64);
    copyFileSync(this.path('my-model.safetensors'), this.path('FILE'));
    cpSync(join(ROOT, 'examples/custom-scheme/my-scheme.js'), this.path('my-scheme.js'));
    const { stdout } = await this.run(['compare', '--scheme', 'kivi-4bit-g32', '--json']);
    for (const name of ['before.json', 'after.json']) writeFileSync(this.path(name), stdout);
    for (const shard of ['1/2', '2/2']) {
      const args = ['--model', 'DIR', '--text', 'wiki.txt', '--all', '--shard', shard];
      const { code, stderr } = await this.run(['eval', ...args, '--out', 'shards']);
      if (code !== 0) throw new Error(stderr);
    }
  }

  /** Runs `lowbit-kv` here, or in the repository where files of it are named; equal lines once. */
  run(args: readonly string[]): Promise<Ran> {
    const directory = args.some((word) => word.startsWith('./packages/')) ? ROOT : this.folder;
    const key = JSON.stringify(args);
    const before = this.#ran.get(key);
    if (before !== undefined) return before;
    const running = this.#run(args, directory);
    this.#ran.set(key, running);
    return running;
  }

  async #run(args: readonly string[], directory: string): Promise<Ran> {
    const written = { stdout: '', stderr: '' };
    const stream = (name: 'stdout' | 'stderr') => ({
      write: (text: string) => {
        written[name] += text;
      },
    });
    const terminal = new Terminal({
      stdout: stream('stdout'),
      stderr: stream('stderr'),
      environment: {
        ...SIZES,
        LOWBIT_KV_CAPTURE: this.path('my-model.safetensors'),
        XDG_CACHE_HOME: this.path('cache'),
      },
      directory,
    });
    return { code: await run(args, terminal), ...written };
  }
}
