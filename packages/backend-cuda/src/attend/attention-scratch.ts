/**
 * Where items of a query token leave what they have seen, and count who has: used by one layer after another.
 */
import type { LayerGeometry } from '@lowbit-kv/core';
import { DeviceMemory } from '../driver/device-memory.js';
import type { Stream } from '../driver/stream.js';

/** Floats that an item leaves of one kv head: outputs, then maxima and sums. */
export function partialFloats({ queryHeads, kvHeads, valueHeadDim }: LayerGeometry): number {
  return (queryHeads / kvHeads) * (valueHeadDim + 2);
}

interface Buffers {
  readonly capacity: number;
  readonly partials: DeviceMemory;
  /** Zeros between launches: the last item of a query token sets them back. */
  readonly arrivals: DeviceMemory;
}

export class AttentionScratch {
  readonly #layers: readonly LayerGeometry[];
  #buffers: Buffers;

  private constructor(layers: readonly LayerGeometry[], buffers: Buffers) {
    this.#layers = layers;
    this.#buffers = buffers;
  }

  /** For launches of up to `capacity` items, and as many query tokens, of any of the layers. Throws DEVICE_OUT_OF_MEMORY. */
  static allocate(
    stream: Stream,
    capacity: number,
    layers: readonly LayerGeometry[],
  ): AttentionScratch {
    return new AttentionScratch(layers, allocate(stream, capacity, layers));
  }

  /** Makes room for more items; graphs that read the scratch need another one then. Throws DEVICE_OUT_OF_MEMORY. */
  reserve(stream: Stream, capacity: number): void {
    if (capacity <= this.#buffers.capacity) return;
    const larger = allocate(stream, capacity, this.#layers);
    // Waits for the launches that still use it.
    this.dispose();
    this.#buffers = larger;
  }

  get partials(): DeviceMemory {
    return this.#buffers.partials;
  }

  get arrivals(): DeviceMemory {
    return this.#buffers.arrivals;
  }

  get bytes(): number {
    return this.partials.bytes + this.arrivals.bytes;
  }

  /** Launches that use it must have run. */
  dispose(): void {
    this.partials.dispose();
    this.arrivals.dispose();
  }
}

function allocate(stream: Stream, capacity: number, layers: readonly LayerGeometry[]): Buffers {
  const largest = (floats: (layer: LayerGeometry) => number) =>
    4 * capacity * Math.max(1, ...layers.map(floats));
  const partialBytes = largest((layer) => layer.kvHeads * partialFloats(layer));
  const partials = DeviceMemory.allocate(stream.context, partialBytes);
  let arrivals: DeviceMemory | undefined;
  try {
    arrivals = DeviceMemory.allocate(
      stream.context,
      largest(({ kvHeads }) => kvHeads),
    );
    arrivals.all.fill(stream, 0);
    return { capacity, partials, arrivals };
  } catch (error) {
    arrivals?.dispose();
    partials.dispose();
    throw error;
  }
}
