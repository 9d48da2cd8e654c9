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

export class AttentionScratch {
  readonly partials: DeviceMemory;
  /** Zeros between launches: the last item of a query token sets them back. */
  readonly arrivals: DeviceMemory;

  private constructor(partials: DeviceMemory, arrivals: DeviceMemory) {
    this.partials = partials;
    this.arrivals = arrivals;
  }

  /** For launches of up to `capacity` items, and as many query tokens, of any of the layers. Throws DEVICE_OUT_OF_MEMORY. */
  static allocate(
    stream: Stream,
    capacity: number,
    layers: readonly LayerGeometry[],
  ): AttentionScratch {
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
      return new AttentionScratch(partials, arrivals);
    } catch (error) {
      arrivals?.dispose();
      partials.dispose();
      throw error;
    }
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
