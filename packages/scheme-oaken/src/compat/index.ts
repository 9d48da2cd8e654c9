/**
 * @lowbit-kv/scheme-oaken/compat: the fake quantization of the authors' artifact, and a simulation of it.
 */
export { type OakenArtifactOptions, oakenArtifact, simulations } from './artifact.js';
export {
  type ArtifactThresholds,
  fakeQuantize,
  groupsOf,
  INNER,
  MIDDLE,
  NO_GROUP,
  type OakenArtifactVariant,
  OUTER,
} from './fake-quantization.js';
export { type ArtifactProfile, profileThresholds } from './profile.js';
