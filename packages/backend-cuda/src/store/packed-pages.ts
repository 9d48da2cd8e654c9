/**
 * What the store asks of the packed pages of a tensor, in whatever order they keep their bits.
 */
import type { TensorWork } from '@lowbit-kv/core';
import type { DeviceRange } from '../driver/device-memory.js';
import type { Stream } from '../driver/stream.js';
import type { SharedTables } from './shared-tables.js';
import type { StepFlags } from './step-flags.js';
import type { StepSession } from './step-session.js';

/** Of one append of one tensor. */
export interface PackContext {
  /** Undefined while a captured step is replayed. */
  readonly launches: Stream | undefined;
  readonly session: StepSession | undefined;
  readonly step: number;
  readonly tables: SharedTables;
  readonly flags: StepFlags;
  /** f16 `[rows, heads, headDim]`, dense: what the step appends. */
  readonly input: DeviceRange;
}

export interface PackedPages {
  /** Statistics pages of sequences. Absent where the plan takes none. */
  measure?(context: PackContext, statistics: TensorWork['statistics']): void;
  /** The canonical block of a page of the device. */
  toCanonical(page: Uint8Array): Uint8Array;
  /** The page of a canonical block. */
  fromCanonical(block: Uint8Array): Uint8Array;
}
