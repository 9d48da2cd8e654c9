// Public entry of @lowbit-kv/harness.
// Benchmarks.

export { type BenchOptions, type BenchProgress, runBench } from './bench/bench.js';
export type { CalibrationOf } from './bench/bench-plan.js';
export {
  type BreakEven,
  breakEven,
  type DecodeStep,
  decodeSteps,
  stepGroups,
} from './bench/break-even.js';
export {
  type BenchCase,
  type BenchQuestion,
  benchCases,
  caseText,
  raggedLengths,
} from './bench/cases.js';
export {
  type BenchDevice,
  type BenchFacts,
  type BenchMemory,
  type RepeatOptions,
  repeatsOf,
} from './bench/device.js';
export {
  type FilledCache,
  type FillOptions,
  fillCache,
  type RowSource,
} from './bench/filled-cache.js';
export { breakEvenText, formatBench, perToken, shapeText, timeText } from './bench/format.js';
export { type HostDeviceOptions, hostDevice, repeatOnHost } from './bench/host-device.js';
export { type BenchMachine, benchMachine, machineDifferences } from './bench/machine.js';
export { pause } from './bench/pause.js';
export {
  type BenchChange,
  type BenchComparison,
  compareBench,
} from './bench/regression.js';
export {
  BENCH_OPERATIONS,
  type BenchBackend,
  type BenchMeasuredRow,
  type BenchOperation,
  type BenchReport,
  type BenchRow,
  type BenchShape,
  benchReportJsonSchema,
  benchReportSchema,
} from './bench/report.js';
// File formats: safetensors and captures.

// Comparing schemes on a capture.
export { CALIBRATION_RUN_TOKENS, type CalibrationSource } from './calibration-source.js';
export { Capture, type CaptureLayer } from './capture.js';
export { captureGeometry } from './capture-geometry.js';
export { CAPTURE_DTYPES, type CaptureShape } from './capture-index.js';
export { CAPTURE_FORMAT, CAPTURE_VERSION } from './capture-metadata.js';
export { captureSamples } from './capture-samples.js';
export { compareSchemes } from './compare.js';
export type { CompareOptions, CompareProgress } from './compare-options.js';
export { compareShard } from './compare-shard.js';
export { defaultCapturePath } from './default-capture.js';
// Two reports compared.
export type { DataDifference, DataDifferences } from './diff/data.js';
export { diffReports, type FigureDiff, type ReportDiff, type RowDiff } from './diff/diff.js';
export { checkDiffGate } from './diff/diff-gate.js';
export { differenceText, formatDiff } from './diff/format.js';
export { parseBenchReport, parseReport, reportRefusal } from './diff/parse-report.js';
export { nearest } from './edit-distance.js';
// Evaluating a language model.
export { evalShardSchemes, evaluateShard } from './eval/eval-shard.js';
export { evaluate } from './eval/evaluate.js';
export type { EvalProgress, EvaluatedText, EvaluateOptions } from './eval/evaluate-options.js';
export type {
  EvaluatedModel,
  LayerNotes,
  LogitsSink,
  PlanRun,
  WindowNotes,
} from './eval/model.js';
export {
  type EvalBucket,
  type EvalMeasuredRow,
  type EvalNoise,
  type EvalReport,
  type EvalRetrieval,
  type EvalRow,
  type EvalThresholds,
  evalReportJsonSchema,
  evalReportSchema,
  type FailingLayer,
} from './eval/report.js';
export type { RetrievalOptions } from './eval/retrieval-prompts.js';
export { formatEvalReport } from './eval/table.js';
export { EVAL_THRESHOLDS } from './eval/thresholds.js';
export { cutWindows, type WindowOptions } from './eval/windows.js';
export { F16 } from './f16-scheme.js';
// A gate over reports.
export { type GateCondition, parseChangeCondition, parseCondition } from './gate/condition.js';
export { checkGate, type GateFailure, type GateOptions, type GateResult } from './gate/gate.js';
export { type MetricInfo, type Place, placeText } from './gate/metric.js';
export { gateMetrics, type JudgedReport, type ReportKind } from './gate/report-figures.js';
export { MEMORY_TOKENS, memoryFigures } from './memory.js';
export { addSums, type ErrorSum, errorSum } from './metrics.js';
export { openCapture } from './open-capture.js';
export { openSafetensors } from './open-safetensors.js';
export { calibrationStage } from './pre-rope.js';
export {
  type BitFigures,
  type CalibrationNote,
  type CompareReport,
  compareReportJsonSchema,
  compareReportSchema,
  type ErrorCause,
  type LayerData,
  type MeasuredRow,
  type MemoryFigure,
  type OutputError,
  type ReportCheck,
  type SchemeRow,
  type SimulatedRow,
  type TensorError,
  type UnmeasuredRow,
  VERDICT_LEVELS,
  type Verdict,
  type VerdictLevel,
  type VerdictThresholds,
} from './report.js';
export { SafetensorsFile } from './safetensors.js';
export { SAFETENSORS_DTYPES, type SafetensorsDtype } from './safetensors-dtypes.js';
export { SAFETENSORS_HEADER_LIMIT, type TensorInfo } from './safetensors-header.js';
export {
  F16_READABLE,
  type F16ReadableDtype,
  F32_READABLE,
  type F32ReadableDtype,
} from './safetensors-widen.js';
export { type TensorToWrite, writeSafetensors } from './safetensors-writer.js';
// Choosing keys and values per layer.
export { parseSchemeFile, type SchemeFile } from './scheme-file.js';
export { formatReport } from './table.js';
export type { TableStyle } from './text-table.js';
export { THRESHOLDS } from './thresholds.js';
export { formatTuneReport } from './tune/format.js';
export { tuneScheme } from './tune/tune.js';
export type { TuneOptions, TuneProgress } from './tune/tune-options.js';
export type { TuneReport, TuneRow } from './tune/tune-report.js';
export { type MergedReport, mergeShards, type ShardSource } from './work/merge-shards.js';
// Work in parts: stores of finished ones.
export { type FileStore, fileStore, type PartStore } from './work/part-store.js';
export type { CompareShard, EvalShard, Shard, ShardContext, ShardHeader } from './work/shard.js';
export {
  isShardFileName,
  readShardFile,
  type ShardFile,
  shardFileName,
  writeShardFile,
} from './work/shard-file.js';
export { checkShard, parseShard, type ShardPart, shardText } from './work/shard-part.js';
export { type FileContent, notWritten, writeTogether, writeWhole } from './write-whole.js';
