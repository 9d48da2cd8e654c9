/**
 * Small tables to the device, in stream order and without waiting: bytes are copied into pinned memory at once, so that
 * the caller's array is free again, and from there by the stream.
 *
 * Pinned memory comes in chunks that are filled one after another. After every upload an event is recorded; a chunk is
 * filled again when its events have happened. Where the oldest chunk is still in use, another one is made, up to a
 * limit, and from there on the thread waits for the oldest.
 *
 * While the stream is captured, nothing has run and the same bytes are read at every replay: each upload gets pinned
 * memory of its own, which stays as it is. The graph of `Graph.capture` frees it with itself; for a capture of the
 * caller the ring keeps it until it is disposed. What differs from replay to replay is uploaded before the replay, in
 * the same stream, to the same device memory.
 */
import { checkRange } from './check-range.js';
import type { Context } from './context.js';
import type { DeviceRange } from './device-memory.js';
import { Event } from './event.js';
import { PinnedMemory } from './pinned-memory.js';
import type { Stream } from './stream.js';

export interface UploadRingOptions {
  /** Size of a chunk. A larger upload makes a chunk of its own size, which stays. */
  readonly chunkBytes?: number;
  /** How many chunks there may be before uploads wait. */
  readonly chunks?: number;
}

interface Chunk {
  readonly memory: PinnedMemory;
  used: number;
  /** Last upload from this chunk in each stream; by object, since handles are used again. */
  readonly marks: Map<Stream, Event>;
}

const ALIGNMENT = 16;

export class UploadRing {
  readonly #context: Context;
  readonly #chunkBytes: number;
  readonly #chunkLimit: number;
  #filling: Chunk | undefined;
  /** Filled, oldest first. */
  readonly #filled: Chunk[] = [];
  readonly #spareEvents: Event[] = [];
  /** Of captures of the caller. */
  readonly #kept: PinnedMemory[] = [];

  constructor(context: Context, { chunkBytes = 2 ** 18, chunks = 8 }: UploadRingOptions = {}) {
    this.#context = context;
    this.#chunkBytes = chunkBytes;
    this.#chunkLimit = chunks;
  }

  /** Pinned memory held now, without what graphs own. */
  get pinnedBytes(): number {
    const chunks = this.#filling === undefined ? this.#filled : [...this.#filled, this.#filling];
    return [...chunks.map(({ memory }) => memory), ...this.#kept].reduce(
      (sum, memory) => sum + memory.bytes,
      0,
    );
  }

  /** Copies `source` to the start of `target`, in order with the other work of the stream. */
  upload(stream: Stream, target: DeviceRange, source: Uint8Array): void {
    checkRange('an upload', 0, source.byteLength, target.bytes);
    if (source.byteLength === 0) return;
    const context = this.#context;
    context.enter();
    try {
      if (stream.isCapturing()) this.#uploadCaptured(stream, target, source);
      else this.#uploadNow(stream, target, source);
    } finally {
      context.leave();
    }
  }

  #uploadNow(stream: Stream, target: DeviceRange, source: Uint8Array): void {
    const chunk = this.#room(source.byteLength);
    let mark = chunk.marks.get(stream);
    if (mark === undefined) {
      mark = this.#spareEvents.pop() ?? Event.create(this.#context);
      chunk.marks.set(stream, mark);
    }
    chunk.memory.write(source, chunk.used);
    target.uploadFrom(stream, chunk.memory, chunk.used, source.byteLength);
    chunk.used += Math.ceil(source.byteLength / ALIGNMENT) * ALIGNMENT;
    try {
      mark.record(stream);
    } catch (error) {
      // Nothing else tells when the chunk is free again.
      if (this.#context.lost === undefined) stream.synchronize();
      throw error;
    }
  }

  #uploadCaptured(stream: Stream, target: DeviceRange, source: Uint8Array): void {
    const memory = PinnedMemory.allocate(this.#context, source.byteLength);
    if (!this.#context.retainForGraph(memory)) this.#kept.push(memory);
    memory.write(source);
    target.uploadFrom(stream, memory, 0, source.byteLength);
  }

  /** A chunk with that many bytes left. */
  #room(bytes: number): Chunk {
    const fits = ({ memory, used }: Chunk) => used + bytes <= memory.bytes;
    if (this.#filling !== undefined && fits(this.#filling)) return this.#filling;
    if (this.#filling !== undefined) this.#filled.push(this.#filling);
    this.#filling = undefined;
    const index = this.#filled.findIndex(({ memory }) => bytes <= memory.bytes);
    const oldest = this.#filled[index];
    if (oldest !== undefined && (this.#filled.length >= this.#chunkLimit || isFree(oldest))) {
      for (const mark of oldest.marks.values()) mark.synchronize();
      this.#spareEvents.push(...oldest.marks.values());
      oldest.marks.clear();
      oldest.used = 0;
      this.#filled.splice(index, 1);
      this.#filling = oldest;
    } else {
      const size = Math.max(this.#chunkBytes, bytes);
      const memory = PinnedMemory.allocate(this.#context, size);
      this.#filling = { memory, used: 0, marks: new Map() };
    }
    return this.#filling;
  }

  /** Waits for uploads on the way, and frees everything; again has no effect. */
  dispose(): void {
    if (this.#filling !== undefined) this.#filled.push(this.#filling);
    this.#filling = undefined;
    for (const { memory, marks } of this.#filled.splice(0)) {
      for (const mark of marks.values()) {
        if (this.#context.lost === undefined && !mark.disposed) mark.synchronize();
        mark.dispose();
      }
      memory.dispose();
    }
    for (const resource of [...this.#spareEvents.splice(0), ...this.#kept.splice(0)])
      resource.dispose();
  }
}

function isFree({ marks }: Chunk): boolean {
  return [...marks.values()].every((mark) => mark.happened());
}
