/**
 * Turns spans into decoded tiles and keeps decoded blocks: packed blocks never change, so a decode loop needs each once.
 */
import type { Span } from '../backend.js';
import { decodeF16 } from '../float16.js';
import type { DecodedTile } from '../law/attention.js';
import { decodeTokens } from '../law/decode.js';
import type { PackedTensorPlan } from '../law/encode.js';
import type { HostPages } from './host-pages.js';

/** Decoded blocks kept per tensor and layer before all are dropped. */
const KEPT_BYTES = 32 * 1024 * 1024;

interface DecodedBlock {
  /** f32 `[heads, blockTokens, headDim]`. */
  readonly values: Float32Array;
  /** Slots decoded so far. */
  slots: number;
}

export class TileDecoder {
  readonly #pages: HostPages;
  readonly #blocks = new Map<number, DecodedBlock>();
  #keptBytes = 0;

  constructor(pages: HostPages) {
    this.#pages = pages;
  }

  /** Forgets slots from `slot` on: they are about to be written. */
  invalidate(page: number, slot: number): void {
    const block = this.#blocks.get(page);
    if (block !== undefined) block.slots = Math.min(block.slots, slot);
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
      const bits =
        span.source === 'window'
          ? this.#pages.windowHead(span.page, head, span.slot, count)
          : this.#inputHead(input as Uint16Array, span, head);
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

  #block(page: number, slots: number): DecodedBlock {
    const plan = this.#pages.plan as PackedTensorPlan;
    const { heads, blockTokens, headDim } = plan.layout;
    let block = this.#blocks.get(page);
    if (block === undefined) {
      block = { values: new Float32Array(heads * blockTokens * headDim), slots: 0 };
      if (this.#keptBytes + block.values.byteLength > KEPT_BYTES) {
        this.#blocks.clear();
        this.#keptBytes = 0;
      }
      this.#blocks.set(page, block);
      this.#keptBytes += block.values.byteLength;
    }
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
