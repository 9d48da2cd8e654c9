/**
 * What the fake driver remembers: contexts, handles, and which of them are alive.
 */
import { RESULT } from '../../../src/driver/results.js';
import type { FakeDevice } from './devices.js';
import type { FakeKernel } from './kernels.js';
import { FakeMemory } from './memory.js';
import { type FakeEvent, type FakeStream, FakeStreams } from './streams.js';
import { FakeViolation, KernelFault } from './violation.js';

export interface FakeContext {
  readonly handle: bigint;
  readonly device: number;
  /** Count of retains; -1 for a context that the test made. */
  retained: number;
  /** CUresult of every call from now on. */
  sticky: number;
  /** The legacy default stream. */
  readonly defaultStream: FakeStream;
}

interface Owned<T> {
  readonly kind: Kind;
  readonly context: bigint;
  readonly value: T;
}

interface Kinds {
  stream: FakeStream;
  event: FakeEvent;
  /** Names of kernels in it; undefined: any. */
  module: {
    readonly entries: readonly string[] | undefined;
    readonly kernels: readonly FakeKernel[];
  };
  function: { readonly kernel: FakeKernel; dynamicSharedBytes: number; readonly module: bigint };
  graph: readonly (() => void)[];
  graphExec: readonly (() => void)[];
}
type Kind = keyof Kinds;

const DEFAULT_STREAMS = [0n, 1n, 2n];

export class FakeState {
  readonly memory: FakeMemory;
  readonly streams = new FakeStreams();
  readonly devices: readonly FakeDevice[];
  readonly contexts: FakeContext[] = [];
  readonly stack: bigint[] = [];
  initialized = false;
  readonly #handles = new Map<bigint, Owned<unknown>>();
  #next = 0x1000n;

  constructor(devices: readonly FakeDevice[], addressOf?: (buffer: ArrayBuffer) => bigint) {
    this.memory = new FakeMemory(addressOf);
    this.devices = devices;
  }

  newHandle(): bigint {
    this.#next += 0x10n;
    return this.#next;
  }

  createContext(device: number): FakeContext {
    const handle = this.newHandle();
    const defaultStream = this.streams.create(handle);
    const context = { handle, device, retained: -1, sticky: 0, defaultStream };
    this.contexts.push(context);
    return context;
  }

  contextOf(handle: bigint): FakeContext | undefined {
    return this.contexts.find((context) => context.handle === handle && context.retained !== 0);
  }

  /** The current context, or the CUresult of a call without a usable one. */
  current(): FakeContext | number {
    if (!this.initialized) return RESULT.NOT_INITIALIZED;
    const handle = this.stack.at(-1);
    const context = handle === undefined ? undefined : this.contextOf(handle);
    if (context === undefined) return RESULT.INVALID_CONTEXT;
    return context.sticky === 0 ? context : context.sticky;
  }

  add<K extends Kind>(kind: K, context: bigint, value: Kinds[K]): bigint {
    const handle = this.newHandle();
    this.#handles.set(handle, { kind, context, value });
    return handle;
  }

  /** Undefined for what is not of the context: calls answer INVALID_HANDLE. */
  get<K extends Kind>(kind: K, handle: bigint, context: FakeContext): Kinds[K] | undefined {
    const owned = this.#handles.get(handle);
    if (owned?.kind !== kind || owned.context !== context.handle) return undefined;
    return owned.value as Kinds[K];
  }

  /** Events are waited for across contexts. */
  event(handle: bigint): FakeEvent | undefined {
    const owned = this.#handles.get(handle);
    return owned?.kind === 'event' ? (owned.value as FakeEvent) : undefined;
  }

  stream(handle: bigint, context: FakeContext): FakeStream | undefined {
    if (DEFAULT_STREAMS.includes(handle)) return context.defaultStream;
    return this.get('stream', handle, context);
  }

  remove(handle: bigint): void {
    this.#handles.delete(handle);
  }

  streamsOf(context: FakeContext): FakeStream[] {
    const own = [...this.#handles.values()].filter(
      (owned) => owned.kind === 'stream' && owned.context === context.handle,
    );
    return [context.defaultStream, ...own.map(({ value }) => value as FakeStream)];
  }

  /** Runs what `work` runs; a fault of a kernel becomes the state of the context. */
  guarded(context: FakeContext, work: () => number): number {
    try {
      return work();
    } catch (error) {
      if (!(error instanceof KernelFault)) throw error;
      context.sticky = error.result;
      return error.result;
    }
  }

  /** Runs everything of a context, as calls that free memory do. */
  drain(context: FakeContext): number {
    return this.guarded(context, () => {
      for (const stream of this.streamsOf(context)) {
        if (stream.capture === undefined) this.streams.synchronize(stream);
      }
      return RESULT.SUCCESS;
    });
  }

  /** Memory that work in a stream reads or writes when it runs. */
  required(address: bigint, length: number, what: string): Uint8Array<ArrayBuffer> {
    const bytes = this.memory.find(address, length, ['device', 'pinned']);
    if (bytes === undefined) throw new FakeViolation(`${what} runs after its memory was freed`);
    return bytes;
  }

  /** One line for everything that was made and not freed. */
  leaks(): string[] {
    const blocks = (['device', 'pinned'] as const).flatMap((kind) =>
      this.memory.live(kind).map(({ size }) => `${kind} memory of ${size} bytes`),
    );
    const handles = [...this.#handles.values()]
      .filter(({ kind }) => kind !== 'function')
      .map(({ kind }) => kind);
    const contexts = this.contexts
      .filter(({ retained }) => retained > 0)
      .map(({ device, retained }) => `primary context of device ${device}, retained ${retained}`);
    const stack = this.stack.length === 0 ? [] : [`${this.stack.length} contexts left current`];
    return [...blocks, ...handles, ...contexts, ...stack];
  }
}
