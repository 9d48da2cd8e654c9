/**
 * What the store asks of whatever appends to a layer.
 */
import type { AppendJob } from '@lowbit-kv/core';
import type { Stream } from '../driver/stream.js';
import type { SharedTables } from './shared-tables.js';
import type { StepFlags } from './step-flags.js';
import type { StepInput } from './step-inputs.js';
import type { StepSession } from './step-session.js';

export interface AppendContext {
  /** Undefined while a captured step is replayed. */
  readonly launches: Stream | undefined;
  readonly session: StepSession | undefined;
  readonly tables: SharedTables;
  readonly flags: StepFlags;
  readonly input: StepInput;
}

export interface AppendLaunch {
  /** Enqueues window writes, packs, and the checks that the input is left with. */
  run(job: AppendJob, context: AppendContext): void;
}
