/**
 * Public entry of @lowbit-kv/core/testing: generated data with known answers, and a float64 attention to compare with.
 * Runs in Node and in the browser and needs no test runner.
 */
export { createDraws, type DrawnArray, type DrawnDtype, roundOnceToF16 } from './draws.js';
export { E2M1_LEVELS, e4m3Levels } from './float-levels.js';
export { type GridRecipe, type GridTensor, lcgGrid } from './grid.js';
export { sharedExponentCodec, withSharedExponent } from './inline-codec.js';
export {
  inlineTables,
  levelTable,
  offsetLevelTable,
  withParameters,
  withTop,
  withTypes,
} from './inline-codes.js';
export {
  asymmetric,
  bands,
  channelScaled,
  hybrid,
  inlineCalibration,
  inlineNeed,
  inlineScheme,
  type SchemeParts,
  symmetric,
} from './inline-schemes.js';
export { type HeadTensorShape, headsFirstToRagged, raggedToHeadsFirst } from './layout.js';
export { maxAbsDifference, nmse, relativeError } from './metrics.js';
export {
  type ChannelOperation,
  lcgNormal,
  type NormalRecipe,
  type TokenOperation,
} from './normal.js';
export {
  expectedMean,
  expectedPattern,
  inPointerUnits,
  POINTER_FORMAT,
  type PointerFormat,
  type PointerPlace,
  type PointerTensorOptions,
  pointerKeys,
  pointerValueId,
  pointerValues,
  pointingQuery,
  tokenIdRange,
} from './pointer.js';
export { createRandom, type Random, shuffled } from './random.js';
export {
  type ReferenceAttentionInput,
  type ReferenceAttentionResult,
  referenceAttention,
} from './reference-attention.js';
export { type KeyShape, rotateKeys } from './rotary.js';
export { type Spread, spreadOf } from './spread.js';
export * from './tolerances.js';
