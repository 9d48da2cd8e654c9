/** What a page shows of either kind of report, in one shape. */
import type { MemoryFigure, Verdict } from '@lowbit-kv/harness';
import type { Fact } from './provenance.js';
import type { SpeedView } from './speed-view.js';

/** A cell and what it is sorted by; a text alone is sorted as text. */
export type TableCell = string | { readonly text: string; readonly value: number | null };

export interface TableView {
  readonly caption: string;
  readonly head: readonly string[];
  readonly rows: readonly (readonly TableCell[])[];
}

/** Errors of a head or a tensor, one for each layer. */
export interface HeatRow {
  /** Of its own in the map. */
  readonly label: string;
  /** After `layer 3`; may be empty. */
  readonly place: string;
  readonly values: readonly (number | null)[];
}

/** Rows that are compared with one another. */
export interface HeatGroup {
  readonly name: string;
  readonly rows: readonly HeatRow[];
  /** The largest ones, in words. */
  readonly worst: string;
}

export interface HeatMapView {
  readonly title: string;
  readonly layers: readonly number[];
  readonly groups: readonly HeatGroup[];
}

export interface CurvePoint {
  readonly from: number;
  readonly to: number;
  readonly divergence: number | null;
}

export interface SchemeView {
  readonly id: string;
  readonly title: string;
  readonly fingerprint: string | null;
  readonly verdict: Verdict;
  /** Null where there are no bytes or no figures. */
  readonly bits: number | null;
  readonly error: number | null;
  readonly heatMap: HeatMapView | null;
  readonly curve: readonly CurvePoint[];
  readonly buckets: TableView | null;
  readonly notes: readonly string[];
  readonly memory: readonly MemoryFigure[];
}

export interface ReportView {
  readonly kind: 'comparison' | 'evaluation';
  readonly title: string;
  readonly subtitle: string;
  readonly valid: boolean;
  /** What `error` is, with its unit. */
  readonly errorName: string;
  readonly bitsName: string;
  readonly schemes: readonly SchemeView[];
  readonly paretoFront: readonly string[];
  readonly tables: readonly TableView[];
  /** Where heat maps change colour: limits of the verdicts among them. */
  readonly limits: { readonly safe: number; readonly care: number };
  /** Of one sequence: which layers. Null where memory is not known. */
  readonly memoryNote: string | null;
  /** Null without a benchmark. */
  readonly speed: SpeedView | null;
  readonly facts: readonly Fact[];
}
