/**
 * @lowbit-kv/core: contracts, planner, the law, the paged cache and the registry.
 */
export type * from './backend.js';
export { Cache, type CacheOptions, type LayerInput } from './cache/cache.js';
export type { CacheCapacity } from './cache/capacity.js';
export { type CreateCacheOptions, createCache } from './cache/create-cache.js';
export type { ExportedBlock, MaterializedLayer } from './cache/export.js';
export { Sequence } from './cache/sequence.js';
export { SNAPSHOT_VERSION } from './cache/snapshot.js';
export {
  parseSnapshotHeader,
  type SnapshotHeader,
  type SnapshotSection,
  snapshotSections,
} from './cache/snapshot-header.js';
export type { SnapshotOptions, SnapshotProgress } from './cache/snapshot-progress.js';
export type { ByteParts, CacheStats, SequenceStats, TensorCounts } from './cache/stats.js';
export type { AttendOptions, Step, StepEntry } from './cache/step.js';
export { type WindowCounts, windowCounts } from './cache/window.js';
export { createCalibration } from './calibration.js';
export type { GroupCodec } from './codec.js';
export { type NonFiniteElement, nonFiniteError, outlierCapacityError } from './data-faults.js';
export {
  type DataPosition,
  ERROR_CODES,
  type ErrorCode,
  type ErrorDetails,
  formatValue,
  LowbitKvError,
  movedError,
} from './errors.js';
export { canonicalJson, fingerprint } from './fingerprint.js';
export {
  decodeF16,
  encodeF16,
  f16DecodeTable,
  f16ToF32,
  f32ToF16,
  isFiniteF16,
  roundToF16,
} from './float16.js';
export {
  type Geometry,
  type LayerGeometry,
  type RotaryEmbedding,
  resolveGeometry,
} from './geometry.js';
export { decodeTokens } from './law/decode.js';
export { encodeTokens, type PackedTensorPlan } from './law/encode.js';
export { mergeAttention, type PartialAttention } from './law/merge.js';
export { RotaryRotation } from './law/rotary.js';
export { rotationSigns } from './law/rotation.js';
export { roundHalfEven } from './law/scale.js';
export { unexecutedFeatures } from './law/support.js';
export {
  type CalibratedNumbers,
  type CalibratedTransform,
  calibratedNumbers,
  isCalibrated,
  isMeasured,
  type MeasuredTransform,
  type TransformNumbers,
  transformsOf,
} from './law/transform-numbers.js';
export type { BackendObserver } from './observe/event-source.js';
export { eventText } from './observe/event-text.js';
export type { BackendCall, BackendEvent, FaultSummary } from './observe/events.js';
export type {
  SourceCounts,
  TensorSummary,
  ValueSummary,
  WorkSummary,
} from './observe/job-summary.js';
export { observeBackend } from './observe/observe-backend.js';
export type { PlanSummary, TensorPlanSummary, UnitSummary } from './observe/plan-summary.js';
export { type Pause, pauseFor } from './pause.js';
export {
  bitsPerElement,
  type ElementBits,
  type PlanBytes,
  type PlanBytesOptions,
  planBytes,
} from './plan/accounting.js';
export { canonicalizePage, outlierCount } from './plan/canonical.js';
export {
  type BlockLayout,
  type CodesPlane,
  OUTLIER_CHUNK,
  PARAMETER_BYTES,
  type ParameterName,
  type ParameterPlane,
  PLANE_ALIGNMENT,
  type SparsePlane,
  type TopPlane,
} from './plan/layout.js';
export { type LayerUnit, type ModelLayer, modelLayers } from './plan/model-layers.js';
export { type PageField, pageFields } from './plan/page-fields.js';
export { type PaperShape, paperBitsPerElement } from './plan/paper-bits.js';
export {
  createPlan,
  type LayerPlan,
  type PageClass,
  type Plan,
  type PlanOptions,
  schemeFingerprint,
  type TensorPlan,
  WINDOW_PAGE_TOKENS,
} from './plan/plan.js';
export { singleLayerPlan } from './plan/single-layer-plan.js';
export {
  codeLevels,
  type PageElement,
  type StoredGroup,
  storedGroup,
  transformTokens,
} from './plan/stored-group.js';
export { validatePage } from './plan/validate-page.js';
export { HostPages } from './reference/host-pages.js';
export { referenceBackend } from './reference/reference-backend.js';
export {
  BackendRegistry,
  createLowbitKv,
  LowbitKv,
  type LowbitKvOptions,
  SchemeRegistry,
} from './registry/registry.js';
export type * from './scheme.js';
export { calibrationNeedOf } from './scheme-rules.js';
export {
  defineScheme,
  parseCalibration,
  type SchemeData,
  schemeDataOf,
  schemeJsonSchema,
} from './scheme-schema.js';
export type * from './simulation.js';
export { tokensOfForward } from './simulation-input.js';
export {
  checkDescribed,
  elementBytes,
  refuseTensor,
  type StridedMemory,
  type StridedTensor,
  type StridedTensorOptions,
  stridedTensor,
} from './strided.js';
export {
  type DeviceTensor,
  elementCount,
  f16Tensor,
  f32Tensor,
  fromBatched,
  type HostTensor,
  isHostTensor,
  refuseTarget,
  requireHostTensor,
  type Tensor,
  type TensorType,
  toBatched,
} from './tensor.js';
export { hasProtoMember, parseOrThrow } from './validate.js';
