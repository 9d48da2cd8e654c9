/**
 * A folder of files for one target, in the middle of folders that nothing may be written to.
 */
import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { mustHold } from '../target.js';

/** Paths that climb further than this are rare, and end where only root may write. */
const DEPTH = 6;

export class Scratch {
  /** What may be written to. */
  readonly folder: string;
  readonly #root: string;
  readonly #around: string[];
  #before = '';

  constructor(name: string) {
    this.#root = mkdtempSync(join(tmpdir(), `lowbit-kv-fuzz-${name}-`));
    this.#around = Array.from({ length: DEPTH }, (_, i) =>
      join(this.#root, ...Array.from({ length: i }, (__, depth) => `level-${depth}`)),
    );
    this.folder = join(this.#around.at(-1) as string, 'inside');
    mkdirSync(this.folder, { recursive: true });
    writeFileSync(join(this.#root, 'secret'), 'not to be read');
    this.#before = this.#listing();
  }

  write(path: string, content: string | Uint8Array): string {
    const place = join(this.folder, path);
    mkdirSync(dirname(place), { recursive: true });
    writeFileSync(place, content);
    return place;
  }

  /** Empties the folder. */
  clear(): void {
    for (const name of readdirSync(this.folder))
      rmSync(join(this.folder, name), { recursive: true, force: true });
  }

  /** Throws WrongAnswer where something was written around the folder. */
  mustBeInside(): void {
    const now = this.#listing();
    mustHold(now === this.#before, `written outside the folder: ${now}`);
  }

  remove(): void {
    rmSync(this.#root, { recursive: true, force: true });
  }

  #listing(): string {
    return this.#around.map((folder) => readdirSync(folder).sort().join(' ')).join('\n');
  }
}
