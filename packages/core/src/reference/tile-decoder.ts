/**
 * Turns spans into decoded tiles and keeps what it decoded: written slots never change, so a decode loop needs each once.
 */
import type { Span } from '../backend.js';
import { decodeF16 } from '../float16.js';
import type { DecodedTile } from '../law/attention.js';
import { decodeTokens } from '../law/decode.js';
import type { PackedTensorPlan } from '../law/encode.js';
import { WINDOW_PAGE_TOKENS } from '../plan/plan.js';
import type { HostPages } from './host-pages.js';

/** Decoded values kept per tensor and layer, of blocks and of windows, before all are dropped. */
const KEPT_BYTES = 32 * 1024 * 1024;

interface DecodedSlots {
  /** f32: `[heads, blockTokens, headDim]` of a block, `[WINDOW_PAGE_TOKENS, headDim]` of one head of a window page. */
  readonly values: Float32Array;
  /** Slots decoded so far. */
  slots: number;
}

export class TileDecoder {
  readonly #pages: HostPages;
  readonly #blocks = new DecodedPages();
  /** By `page * heads + head`. */
  readonly #windows = new DecodedPages();

  constructor(pages: HostPages) {
    this.#pages = pages;
  }

  /** Forgets slots from `slot` on: they are about to be written. */
  invalidate(kind: 'packed' | 'window', page: number, slot: number): void {
    if (kind === 'packed') this.#blocks.cut(page, slot);
    else {
      const { heads } = this.#pages.plan;
      for (let head = 0; head < heads; head++) this.#windows.cut(page * heads + head, slot);
    }
  }

  /** Decoded tiles of one kv head. `input` is f16 bits `[rows, heads, headDim]`. */
  tiles(spans: readonly Span[], head: number, input: Uint16Array | null): DecodedTile[] {
    return spans.map((span) => {
      const { count, position } = span;
      if (span.source === 'packed') {
        const { layout, scheme } = this.#pages.plan as PackedTensorPlan;
        const { values } = this.#block(span.page, span.slot + count);
        const offset = (head * layout.blockTokens + span.slot) * layout.headDim;
        const transformed = (scheme.transforms?.length ?? 0) > 0;
        return { values, offset, count, position, transformed };
      }
      if (span.source === 'window') {
        const { values } = this.#window(span.page, head, span.slot + count);
        const offset = span.slot * this.#pages.plan.headDim;
        return { values, offset, count, position, transformed: false };
      }
      const bits = this.#inputHead(input as Uint16Array, span, head);
      return { values: decodeF16(bits), offset: 0, count, position, transformed: false };
    });
  }

  #inputHead(input: Uint16Array, span: Span, head: number): Uint16Array {
    const { heads, headDim } = this.#pages.plan;
    const bits = new Uint16Array(span.count * headDim);
    for (let i = 0; i < span.count; i++) {
      const from = ((span.slot + i) * heads + head) * headDim;
      bits.set(input.subarray(from, from + headDim), i * headDim);
    }
    return bits;
  }

  #window(page: number, head: number, slots: number): DecodedSlots {
    const { heads, headDim } = this.#pages.plan;
    const window = this.#windows.get(page * heads + head, WINDOW_PAGE_TOKENS * headDim);
    if (window.slots < slots) {
      const bits = this.#pages.windowHead(page, head, window.slots, slots - window.slots);
      decodeF16(bits, window.values.subarray(window.slots * headDim, slots * headDim));
      window.slots = slots;
    }
    return window;
  }

  #block(page: number, slots: number): DecodedSlots {
    const plan = this.#pages.plan as PackedTensorPlan;
    const { heads, blockTokens, headDim } = plan.layout;
    const block = this.#blocks.get(page, heads * blockTokens * headDim);
    if (block.slots < slots) {
      for (let head = 0; head < heads; head++) {
        const at = (head * blockTokens + block.slots) * headDim;
        decodeTokens(
          plan,
          this.#pages.packedPage(page),
          head,
          block.slots,
          slots - block.slots,
          block.values,
          at,
        );
      }
      block.slots = slots;
    }
    return block;
  }
}

/** Decoded values by number, dropped together when they grow too large. */
class DecodedPages {
  readonly #pages = new Map<number, DecodedSlots>();
  #keptBytes = 0;

  /** What is kept under a number; empty when new. */
  get(number: number, size: number): DecodedSlots {
    const kept = this.#pages.get(number);
    if (kept !== undefined) return kept;
    const fresh = { values: new Float32Array(size), slots: 0 };
    if (this.#keptBytes + fresh.values.byteLength > KEPT_BYTES) {
      this.#pages.clear();
      this.#keptBytes = 0;
    }
    this.#pages.set(number, fresh);
    this.#keptBytes += fresh.values.byteLength;
    return fresh;
  }

  cut(number: number, slot: number): void {
    const kept = this.#pages.get(number);
    if (kept !== undefined) kept.slots = Math.min(kept.slots, slot);
  }
}
