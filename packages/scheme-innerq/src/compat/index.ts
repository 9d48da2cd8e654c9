/**
 * @lowbit-kv/scheme-innerq/compat: the authors' group arithmetic as codecs, and a simulation of their cache.
 */
export { type InnerqMode, innerqFp16Codec } from './fp16-codec.js';
export {
  type AsymmetricGroup,
  decodeAsymmetric,
  decodeHybrid,
  decodeSymmetric,
  type HybridGroup,
  NAN_AS_INTEGER,
  quantizeAsymmetric,
  quantizeHybrid,
  quantizeSymmetric,
  type SymmetricGroup,
} from './fp16-group.js';
export { compatPresets, type InnerqFp16Options, innerqFp16 } from './innerq-fp16.js';
export { InnerqRepositoryLayer, type InnerqRepositorySettings } from './repository-layer.js';
export {
  type InnerqRepositorySetting,
  type InnerqRepositorySimulation,
  innerqRepository,
  simulations,
} from './repository-settings.js';
export type { RepositoryGroup, RepositoryTensorSettings } from './repository-tensor.js';
