/**
 * Events of an observed backend: plain data that says what a call is given, and how it ended.
 *
 * Every call gives two: `start`, before the backend sees it, and `end` or `fault`. Both have the inputs, so whoever counts needs
 * the second alone. Nothing in an event belongs to the cache or the backend.
 */
import type {
  BackendProbe,
  BackendSupport,
  PageCounts,
  PageKind,
  StoreOptions,
} from '../backend.js';
import type { ErrorCode } from '../errors.js';
import type { SourceCounts, TensorSummary, WorkSummary } from './job-summary.js';
import type { PlanSummary } from './plan-summary.js';

/** What each call is given, and what it gave. */
interface Calls {
  probe: { inputs: NoFields; outputs: { readonly answer: BackendProbe } };
  supports: { inputs: PlanInputs; outputs: { readonly answer: BackendSupport } };
  'create-store': { inputs: StoreInputs; outputs: { readonly allocatedBytes: number } };
  append: { inputs: AppendInputs; outputs: NoFields };
  attend: { inputs: AttendInputs; outputs: NoFields };
  read: { inputs: ReadInputs; outputs: { readonly bytes: number } };
  settle: { inputs: StepInputs; outputs: NoFields };
  forget: { inputs: StepInputs; outputs: NoFields };
  'read-pages': { inputs: PagesInputs; outputs: { readonly bytes: number } };
  'write-pages': { inputs: PagesInputs & { readonly bytes: number }; outputs: NoFields };
  dispose: { inputs: NoFields; outputs: NoFields };
}

type NoFields = Readonly<Record<never, never>>;
interface PlanInputs {
  readonly plan: PlanSummary;
}

interface StoreInputs extends PlanInputs {
  /** By page class of the plan. */
  readonly pages: readonly PageCounts[];
  readonly nonFinite: StoreOptions['nonFinite'];
}

interface StepInputs {
  /** A number of its own per step of a cache. */
  readonly step: number;
}

/** Where a job works: a layer of the model, and the entry of `Plan.layers`, which differ where single heads are overridden. */
export interface LayerInputs {
  readonly layer: number;
  readonly unit: number;
}

export interface AppendInputs extends StepInputs, LayerInputs {
  readonly sequences: number;
  /** New tokens, of all sequences together. */
  readonly tokens: number;
  readonly key: TensorSummary;
  readonly value: TensorSummary;
  readonly work: { readonly key: WorkSummary; readonly value: WorkSummary };
}

export interface AttendInputs extends LayerInputs {
  /** Null for attention over committed tokens. */
  readonly step: number | null;
  readonly sequences: number;
  readonly queries: number;
  /** Lengths of the sequences, added up. */
  readonly tokens: number;
  readonly query: TensorSummary;
  /** Where the keys and values that are seen lie, in tokens. */
  readonly key: SourceCounts;
  readonly value: SourceCounts;
  readonly logSumExp: boolean;
  /** Whether results go to memory of the caller. */
  readonly into: boolean;
}

interface ReadInputs extends LayerInputs {
  /** `call` of the attention that is read back. */
  readonly attend: number;
}

export interface PagesInputs extends LayerInputs {
  readonly tensor: 'key' | 'value';
  readonly kind: PageKind;
  readonly pages: number;
}

export type BackendCall = keyof Calls;

interface Common<Type> {
  readonly type: Type;
  /** Id of the backend. */
  readonly backend: string;
  /** Which store of the observed backend, from 1; null for calls of the backend itself. */
  readonly store: number | null;
  /** The same in both events of a call, from 1, in the order of the calls. */
  readonly call: number;
}

/**
 * From the call to its return; for promises, until they settle. On a device `append` and `attend` only enqueue: the work is in
 * `settle` and `read`.
 */
interface Timed {
  readonly milliseconds: number;
}

type EventOf<Type extends BackendCall> = Common<Type> &
  Calls[Type]['inputs'] &
  (
    | { readonly phase: 'start' }
    | ({ readonly phase: 'end' } & Timed & Calls[Type]['outputs'])
    | ({ readonly phase: 'fault'; readonly error: FaultSummary } & Timed)
  );

export interface FaultSummary {
  /** Of a LowbitKvError; null for what else a backend throws. */
  readonly code: ErrorCode | null;
  readonly message: string;
}

/** `type` says which call, `phase` when. */
export type BackendEvent = { [Type in BackendCall]: EventOf<Type> }[BackendCall];

/** Inputs and outputs by type, for those who make events. */
export type InputsOf<Type extends BackendCall> = Calls[Type]['inputs'];
export type OutputsOf<Type extends BackendCall> = Calls[Type]['outputs'];
