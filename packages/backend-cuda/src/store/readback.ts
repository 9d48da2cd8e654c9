/**
 * Device memory read by the host, in stream order, while the thread goes on.
 */
import type { DeviceRange } from '../driver/device-memory.js';
import { PinnedMemory } from '../driver/pinned-memory.js';
import type { Stream } from '../driver/stream.js';

/** Pinned memory of one round. */
const ROUND_BYTES = 64 * 2 ** 20;

/** The bytes of ranges, one after another, as they are when the work that was enqueued before has run. */
export async function readRanges(
  stream: Stream,
  ranges: readonly DeviceRange[],
): Promise<Uint8Array<ArrayBuffer>> {
  const total = ranges.reduce((sum, { bytes }) => sum + bytes, 0);
  const result = new Uint8Array(total);
  if (total === 0) return result;
  const largest = Math.max(...ranges.map(({ bytes }) => bytes));
  const pinned = PinnedMemory.allocate(
    stream.context,
    Math.max(largest, Math.min(total, ROUND_BYTES)),
  );
  let isOnItsWay = false;
  try {
    let done = 0;
    for (let first = 0; first < ranges.length; ) {
      let used = 0;
      let next = first;
      isOnItsWay = true;
      for (; next < ranges.length; next++) {
        const range = ranges[next] as DeviceRange;
        if (used + range.bytes > pinned.bytes) break;
        range.downloadTo(stream, pinned, used);
        used += range.bytes;
      }
      await stream.finished();
      isOnItsWay = false;
      result.set(pinned.read(0, used), done);
      done += used;
      first = next;
    }
  } finally {
    if (!isOnItsWay || (await isSettled(stream))) pinned.dispose();
  }
  return result;
}

/** Whether copies that an error left on their way have ended: until then their memory is not freed, or with the context. */
async function isSettled(stream: Stream): Promise<boolean> {
  const { context } = stream;
  if (context.lost !== undefined || context.disposed) return true;
  try {
    await stream.finished();
    return true;
  } catch {
    return false;
  }
}
