/**
 * What of a device and of its user decides which shaders run.
 */
/** How attention meets codes: integers of 15 bits (error below 1e-3), or of 8 bits. */
export type Precision = 'exact' | 'fast';

/** What of a device decides which shader runs. */
export interface ShaderOptions {
  readonly precision: Precision;
  /** Workgroups of 32 are one subgroup. */
  readonly subgroupsOf32: boolean;
  /** dot4I8Packed and its packing functions. */
  readonly integerDots: boolean;
}
