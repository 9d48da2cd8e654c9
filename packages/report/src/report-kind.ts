/** The reports that become files, and how they are told apart. */
import type {
  BenchReport,
  CompareReport,
  EvalReport,
  MemoryFigure,
  ShardSource,
  VerdictLevel,
} from '@lowbit-kv/harness';

export type AnyReport = CompareReport | EvalReport;

export function isComparison(report: AnyReport): report is CompareReport {
  return 'capture' in report;
}

/** Verdict levels in words, as every format says them. */
export const LEVEL_WORDS: Readonly<Record<VerdictLevel, string>> = {
  baseline: 'baseline',
  safe: 'safe',
  care: 'usable with care',
  unsafe: 'unsafe',
  unmeasured: 'not measured',
  refused: 'refused',
  invalid: 'INVALID',
};

export interface NamedBench {
  readonly name: string;
  readonly report: BenchReport;
}

/** What a report does not say itself. Everything is optional: what is not given is left out. */
export interface ReportContext {
  /** Such as `lowbit-kv 0.1.0`. */
  readonly version?: string;
  /** Commit of its sources. */
  readonly commit?: string;
  /** The command that measured. */
  readonly command?: string;
  /** Where it ran: platform, processor, runtime. */
  readonly machine?: string;
  /** Of a merged report: who measured its parts. */
  readonly shards?: readonly Pick<ShardSource, 'shard' | 'command' | 'machine'>[];
  /** By scheme id: the code or JSON that gives a program this scheme. */
  readonly configs?: Readonly<Record<string, string>>;
  /** By scheme id: bytes of one sequence of the whole model, for an evaluation, whose report has none. */
  readonly memory?: Readonly<Record<string, readonly MemoryFigure[]>>;
  /** Benchmarks, for the speed of the schemes, with the names of their files. */
  readonly benches?: readonly NamedBench[];
}
