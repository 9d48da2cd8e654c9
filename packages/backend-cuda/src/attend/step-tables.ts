/**
 * A work list in device memory, for the layers of a step that show the same views.
 *
 * Pointers stay as they are while nothing grows, so that graphs can hold them: what differs from replay to replay is uploaded
 * before the replay, in the same stream.
 */
import { type AttendSequence, LowbitKvError } from '@lowbit-kv/core';
import type { Context } from '../driver/context.js';
import { DeviceMemory } from '../driver/device-memory.js';
import type { Stream } from '../driver/stream.js';
import type { UploadRing } from '../driver/upload-ring.js';
import { ITEM, PAGE_ENTRY, REST_ENTRY } from './structs.js';
import type { WordTable } from './word-table.js';
import { WorkList, type WorkListOptions } from './work-list.js';

export interface StepTablesOptions extends WorkListOptions {
  /** Entries that there is room for from the start. */
  readonly pageEntries?: number;
  readonly restEntries?: number;
}

/** In front of the items: how many they are. */
const COUNT_BYTES = 32;

export class StepTables {
  readonly list: WorkList;
  readonly #context: Context;
  readonly #ring: UploadRing;
  #items: DeviceMemory;
  #pages: DeviceMemory;
  #rests: DeviceMemory;
  /** The count and the items as they go up, in one copy. */
  #staging: Uint8Array<ArrayBuffer>;
  #uploaded = 0;
  #frozen = false;

  /** Throws DEVICE_OUT_OF_MEMORY. */
  constructor(context: Context, ring: UploadRing, options: StepTablesOptions) {
    const { capacity, pageEntries = 1024, restEntries = 1024 } = options;
    this.list = new WorkList(options);
    this.#context = context;
    this.#ring = ring;
    this.#staging = new Uint8Array(COUNT_BYTES + capacity * ITEM.bytes);
    const made: DeviceMemory[] = [];
    const allocate = (bytes: number) => {
      const memory = DeviceMemory.allocate(context, bytes);
      made.push(memory);
      return memory;
    };
    try {
      this.#items = allocate(this.#staging.length);
      this.#pages = allocate(pageEntries * PAGE_ENTRY.bytes);
      this.#rests = allocate(restEntries * REST_ENTRY.bytes);
    } catch (error) {
      for (const memory of made) memory.dispose();
      throw error;
    }
  }

  /** CUdeviceptr of each table, valid until the next `update` that is not frozen. */
  get pointers(): {
    readonly items: bigint;
    readonly itemTable: bigint;
    readonly pageTable: bigint;
    readonly restTable: bigint;
  } {
    return {
      items: this.#items.pointer,
      itemTable: this.#items.pointer + BigInt(COUNT_BYTES),
      pageTable: this.#pages.pointer,
      restTable: this.#rests.pointer,
    };
  }

  get bytes(): number {
    return this.#items.bytes + this.#pages.bytes + this.#rests.bytes;
  }

  /** From now on the tables stay where they are, for a graph that reads them: its kernel too stays the same. */
  freeze(): void {
    this.#frozen = true;
    this.list.fix();
  }

  /** Makes room for more items. Throws DEVICE_RESOURCE_STATE when the tables are frozen. */
  reserve(capacity: number): void {
    if (capacity <= this.list.capacity) return;
    const bytes = COUNT_BYTES + capacity * ITEM.bytes;
    if (this.#frozen) throw tooSmall(bytes, this.#items.bytes);
    const larger = DeviceMemory.allocate(this.#context, bytes);
    // Waits for the launches that still read it.
    this.#items.dispose();
    this.#items = larger;
    this.#staging = new Uint8Array(bytes);
    this.#uploaded = 0;
    this.list.reserve(capacity);
  }

  /**
   * Makes the tables those of the sequences, in order with the stream; nothing is done when they are already. `room`: as of
   * `WorkList.update`. Throws DEVICE_RESOURCE_STATE inside a capture, and where frozen tables are too small.
   */
  update(stream: Stream, sequences: readonly AttendSequence[], room?: number): void {
    const { list } = this;
    list.update(sequences, room);
    if (this.#uploaded === list.version) return;
    if (stream.isCapturing()) {
      throw new LowbitKvError('DEVICE_RESOURCE_STATE', {
        message:
          'tables of attention change while a graph is captured, which would keep these for ever',
        valid: 'tables updated before the capture, and before every replay',
        next: 'Update the tables outside of the capture.',
      });
    }
    this.#pages = this.#withRoom(this.#pages, list.pages);
    this.#rests = this.#withRoom(this.#rests, list.rests);
    new DataView(this.#staging.buffer).setInt32(0, list.items.length, true);
    this.#staging.set(list.items.bytes, COUNT_BYTES);
    // Blocks of a larger grid read items behind the last one before they know the count.
    const used =
      this.#uploaded === 0 ? this.#staging.length : COUNT_BYTES + list.items.bytes.length;
    this.#ring.upload(stream, this.#items.all, this.#staging.subarray(0, used));
    this.#ring.upload(stream, this.#pages.all, list.pages.bytes);
    this.#ring.upload(stream, this.#rests.all, list.rests.bytes);
    this.#uploaded = list.version;
  }

  #withRoom(memory: DeviceMemory, table: WordTable): DeviceMemory {
    const needed = table.bytes.length;
    if (needed <= memory.bytes) return memory;
    if (this.#frozen) throw tooSmall(needed, memory.bytes);
    const larger = DeviceMemory.allocate(this.#context, 2 * needed);
    // Waits for the launches that still read it.
    memory.dispose();
    return larger;
  }

  /** Launches that read the tables must have run. */
  dispose(): void {
    for (const memory of [this.#items, this.#pages, this.#rests]) memory.dispose();
  }
}

function tooSmall(needed: number, bytes: number): LowbitKvError {
  return new LowbitKvError('DEVICE_RESOURCE_STATE', {
    message: 'tables of attention that a graph reads are too small for these sequences',
    value: needed,
    valid: `at most ${bytes} bytes`,
    next: 'Ask for more entries before the capture, or capture again.',
  });
}
