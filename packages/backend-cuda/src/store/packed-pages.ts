/**
 * What the store asks of the packed pages of a tensor, in whatever order they keep their bits.
 */
import { LowbitKvError, type TensorPlan, type TensorWork, transformsOf } from '@lowbit-kv/core';
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
  /** Statistics pages of sequences. Throws PLAN_REFUSED where nothing measures any. */
  measure(context: PackContext, statistics: TensorWork['statistics']): void;
  /** The canonical block of a page of the device. */
  toCanonical(page: Uint8Array): Uint8Array;
  /** The page of a canonical block. */
  fromCanonical(block: Uint8Array): Uint8Array;
}

/** For statistics of a tensor whose plan takes none, so that no kernel was made that measures them. */
export function notMeasured({ tensor, scheme }: TensorPlan): LowbitKvError {
  return new LowbitKvError('PLAN_REFUSED', {
    message: 'nothing measures the statistics that a step asks for',
    value: scheme.bits === 16 ? 'a tensor that stays f16' : transformsOf({ scheme }),
    valid: 'tensors with a transform that is measured on the sequence',
    next: 'Create the store with the plan that its steps are made from.',
    where: { tensor },
  });
}
