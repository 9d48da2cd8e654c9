/**
 * The backend contract: a backend executes jobs over pages; core decides what the jobs are.
 *
 * Guarantees a backend gives
 * - It knows plans and bytes, never scheme names, and keeps no record of sequences: windows, truncation, forks and
 *   page tables live in core.
 * - What it calls a layer is an entry of `Plan.layers`: all kv heads of a layer of the model, or those that core splits off
 *   where overrides name single heads. Shapes, heads and geometry are those of the entry.
 * - `append` and `attend` only enqueue, in call order; `settle` waits for a step and reports its first fault.
 * - A job writes only pages named in it and only slots from its first slot on: whatever was visible before stays as it
 *   was, so an abandoned step needs no undo.
 * - `readPages` returns canonical bytes (docs/block-format.md), equal on every backend for equal jobs.
 *
 * Shapes are ragged: K, V `[tokens, kvHeads, headDim]`, Q and the output `[queries, queryHeads, headDim]`, all sequences
 * of a step one after another.
 */
import type { Plan } from './plan/plan.js';
import type { HostTensor, Tensor } from './tensor.js';

export interface Backend {
  readonly specVersion: 1;
  /** Unique in a registry, for example `webgpu`. */
  readonly id: string;
  /** Whether the backend can start here; never throws. */
  probe(): Promise<BackendProbe>;
  /** Asked before anything is allocated. */
  supports(plan: Plan): BackendSupport;
  createStore(plan: Plan, options: StoreOptions): Promise<BlockStore>;
}

export type BackendProbe =
  | { readonly ok: true; readonly device: string }
  | { readonly ok: false; readonly reason: string; readonly next: string };

/** `emulated` runs the plan outside the backend's own kernels, and only when the caller allows it. */
export type BackendSupport =
  | { readonly kind: 'native' }
  | { readonly kind: 'emulated'; readonly reasons: readonly string[] }
  | { readonly kind: 'refused'; readonly reasons: readonly string[] };

export interface StoreOptions {
  /** Pages per page class (see `Plan.classes`), the same for every layer of the class. */
  readonly pages: readonly PageCounts[];
  /** `error`: a job with a non-finite key or value faults. `mask`: codes stay inside their bits, values are undefined. */
  readonly nonFinite: 'error' | 'mask';
}

export interface PageCounts {
  readonly packed: number;
  readonly window: number;
  readonly statistics: number;
}

/** `packed`: blocks of codes and parameters. `window`: f16 tokens. `statistics`: f16 factors of a sequence. */
export type PageKind = 'packed' | 'window' | 'statistics';

/** Consecutive tokens: `count` slots of one page, or rows of the tensor handed to this step's `append`. */
export interface Span {
  readonly source: 'packed' | 'window' | 'input';
  /** Page number; unused for `input`. */
  readonly page: number;
  /** First slot in the page, or first row of the input. */
  readonly slot: number;
  readonly count: number;
  /** Position of the first token in its sequence. */
  readonly position: number;
}

export interface AppendJob {
  /** The step it belongs to: a number of its own per step. */
  readonly step: number;
  /** Index into `Plan.layers`. */
  readonly layer: number;
  /** Host tensors are f16 and stay as they are until the step ends. */
  readonly key: Tensor;
  readonly value: Tensor;
  readonly work: { readonly key: TensorWork; readonly value: TensorWork };
  /** Which sequence (an index) each input row belongs to; for error messages. */
  readonly rows: readonly {
    readonly sequence: number;
    readonly position: number;
    readonly count: number;
  }[];
}

/** What happens to one tensor of one layer, in this order. */
export interface TensorWork {
  /** First `count` slots of `from` are copied to `to`, a fresh page (copy on write). */
  readonly copies: readonly {
    kind: 'packed' | 'window';
    from: number;
    to: number;
    count: number;
  }[];
  readonly statistics: readonly { page: number; sources: readonly Span[] }[];
  readonly writes: readonly { row: number; page: number; slot: number; count: number }[];
  readonly packs: readonly PackWork[];
}

/**
 * Tokens of `sources`, in order, are encoded into `count` slots of a packed page from `slot` on. Sources are rows of the input, and
 * window slots of earlier steps: none that `writes` of the same job name.
 */
export interface PackWork {
  readonly page: number;
  readonly slot: number;
  readonly count: number;
  readonly sources: readonly Span[];
  /** Statistics page of the sequence, or -1. */
  readonly statistics: number;
}

export interface AttendJob {
  /** Null for attention over committed tokens: its faults reach whoever reads the result. */
  readonly step: number | null;
  /** Index into `Plan.layers`. */
  readonly layer: number;
  readonly query: Tensor;
  /** The tensors given to `append` in the same step; needed when a span has source `input`. */
  readonly input?: { readonly key: Tensor; readonly value: Tensor };
  readonly sequences: readonly AttendSequence[];
  readonly logSumExp: boolean;
  /** Memory of the caller that results go to, of the shapes of the result; only backends with such memory take it. */
  readonly into?: AttendTarget;
}

/** f32 `[queries, queryHeads, valueHeadDim]` and `[queries, queryHeads]`. */
export interface AttendTarget {
  readonly output: Tensor;
  readonly logSumExp?: Tensor;
}

export interface AttendSequence {
  readonly firstQuery: number;
  readonly queries: number;
  /** Query i stands at position `length - queries + i` and sees positions up to its own. */
  readonly length: number;
  readonly key: TensorView;
  readonly value: TensorView;
}

/** Visible tokens in rising position; evicted positions are missing. */
export interface TensorView {
  readonly spans: readonly Span[];
  /** Statistics page, or -1. */
  readonly statistics: number;
}

export interface BlockStore {
  append(job: AppendJob): void;
  attend(job: AttendJob): AttentionResult;
  /** Waits for everything enqueued so far; throws the first fault (a LowbitKvError) among the jobs of this step. */
  settle(step: number): Promise<void>;
  /** The step was abandoned: its faults, past and still to come, are of no interest. */
  forget(step: number): void;
  /** Canonical bytes of whole pages of one layer, one after another. */
  readPages(request: PageRequest): Promise<Uint8Array>;
  writePages(request: PageRequest, bytes: Uint8Array): Promise<void>;
  /** Bytes really allocated. */
  readonly allocatedBytes: number;
  dispose(): void;
}

export interface PageRequest {
  /** Index into `Plan.layers`. */
  readonly layer: number;
  readonly tensor: 'key' | 'value';
  readonly kind: PageKind;
  readonly pages: readonly number[];
}

/**
 * Output of one attend. Reading it back is the caller's choice. Where overrides name single heads, `read` puts the heads
 * together on the host; before that the tensors are device tensors of `core`, which no backend takes.
 */
export interface AttentionResult {
  /** f32 `[queries, queryHeads, valueHeadDim]`; zeros where nothing is visible. */
  readonly output: Tensor;
  /** f32 `[queries, queryHeads]`, natural logarithm over scaled, soft-capped logits; -Infinity where nothing is visible. */
  readonly logSumExp: Tensor | undefined;
  read(): Promise<{ readonly output: HostTensor; readonly logSumExp: HostTensor | undefined }>;
}
