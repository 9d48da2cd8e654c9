/**
 * The inline schemes of core's testing entry, under the short names that these tests use.
 */
export {
  asymmetric,
  bands,
  channelScaled,
  hybrid,
  inlineCalibration as calibrationFor,
  inlineScheme as scheme,
  levelTable,
  offsetLevelTable,
  type SchemeParts,
  symmetric,
  withParameters,
  withTop,
  withTypes,
} from '@lowbit-kv/core/testing';
