/**
 * Faults of the file system, put into node:fs/promises itself: at one call an error, or an end of everything as a kill or a loss
 * of power makes it: that call does half of its work, and neither it nor any later one comes back.
 */
import type { FileHandle } from 'node:fs/promises';
import { createRequire, syncBuiltinESMExports } from 'node:module';

export interface FileFault {
  /** Of the calls that change something, from 0 on. */
  readonly call: number;
  /** Code of the error; `end` for the end of everything. */
  readonly kind: 'ENOSPC' | 'EIO' | 'EROFS' | 'end';
}

type AnyFunction = (...values: never[]) => Promise<unknown>;

const promises = createRequire(import.meta.url)('node:fs/promises') as Record<string, AnyFunction>;
/** Functions that change something, and methods of files. */
const FUNCTIONS = ['open', 'rename', 'writeFile', 'appendFile', 'mkdir', 'rm', 'unlink', 'link'];
const METHODS = ['write', 'writeFile', 'appendFile', 'sync', 'truncate', 'close'] as const;

export class FaultyFiles {
  /** Names of the calls that changed something, in order. */
  readonly calls: string[] = [];
  readonly #fault: FileFault | undefined;
  readonly #real = new Map<string, AnyFunction>();
  readonly #handles: { readonly handle: FileHandle; readonly own: PropertyDescriptorMap }[] = [];
  #ended: () => void = () => undefined;
  /** While half of a call is done, by calls of its own. */
  #isHalving = false;
  /** When everything has ended. */
  readonly end: Promise<void>;

  private constructor(fault: FileFault | undefined) {
    this.#fault = fault;
    this.end = new Promise((resolve) => {
      this.#ended = resolve;
    });
  }

  /** What `work` gives, `error` for what it throws, or `ended`; the file system is as before afterwards. */
  static async run<T>(fault: FileFault | undefined, work: () => Promise<T>) {
    const files = new FaultyFiles(fault);
    files.#install();
    try {
      const outcome = await Promise.race([
        work().then(
          (value) => ({ kind: 'done' as const, value }),
          (error: unknown) => ({ kind: 'error' as const, error }),
        ),
        files.end.then(() => ({ kind: 'ended' as const })),
      ]);
      return { outcome, calls: files.calls };
    } finally {
      await files.#uninstall();
    }
  }

  #install(): void {
    for (const name of FUNCTIONS) {
      const real = promises[name] as AnyFunction;
      this.#real.set(name, real);
      promises[name] = (async (...values: never[]) => {
        // Reading changes nothing.
        if (name === 'open' && (values[1] ?? 'r') === 'r') return real(...values);
        const result = await this.#call(name, () => real(...values));
        if (name === 'open') this.#watch(result as FileHandle);
        return result;
      }) as AnyFunction;
    }
    syncBuiltinESMExports();
  }

  async #uninstall(): Promise<void> {
    for (const [name, real] of this.#real) promises[name] = real;
    syncBuiltinESMExports();
    for (const { handle, own } of this.#handles) {
      for (const name of METHODS) Reflect.deleteProperty(handle, name);
      Object.defineProperties(handle, own);
      await handle.close().catch(() => undefined);
    }
  }

  #watch(handle: FileHandle): void {
    this.#handles.push({ handle, own: Object.getOwnPropertyDescriptors(handle) });
    for (const name of METHODS) {
      const real = (handle[name] as AnyFunction).bind(handle) as AnyFunction;
      const half = (values: never[]) => (isWrite(name) ? real(...halved(values)) : null);
      Object.defineProperty(handle, name, {
        configurable: true,
        value: (...values: never[]) =>
          this.#call(
            name,
            () => real(...values),
            () => half(values),
          ),
      });
    }
  }

  async #call(
    name: string,
    work: () => Promise<unknown>,
    half: () => Promise<unknown> | null = () => null,
  ): Promise<unknown> {
    const fault = this.#fault;
    if (this.#isHalving) return work();
    const number = this.calls.push(name) - 1;
    if (fault === undefined || number < fault.call) return work();
    if (fault.kind === 'end') {
      if (number === fault.call) await this.#halve(half);
      this.#ended();
      return new Promise(() => undefined);
    }
    if (number > fault.call) return work();
    await this.#halve(half);
    // A file that fails to be closed is closed.
    if (name === 'close') await work();
    throw Object.assign(new Error(`${fault.kind}: put in, ${name}`), {
      ...{ code: fault.kind, syscall: name, errno: -1 },
    });
  }

  async #halve(half: () => Promise<unknown> | null): Promise<void> {
    this.#isHalving = true;
    await half();
    this.#isHalving = false;
  }
}

function isWrite(name: string): boolean {
  return name === 'write' || name === 'writeFile' || name === 'appendFile';
}

function halved([content, ...rest]: never[]): never[] {
  const value = content as unknown as string | Uint8Array;
  const half = Math.floor(value.length / 2);
  const part = typeof value === 'string' ? value.slice(0, half) : value.subarray(0, half);
  // Of `write`, offset and length name bytes that may not be there any more.
  return [part, ...(rest.length > 1 ? [] : rest)] as never[];
}
