/**
 * Switches of dawn for SwiftShader, where the processor compiles and runs every instruction. Also flags of Chromium.
 */

/**
 * SwiftShader compiles one store for each element of workgroup memory that the driver is to clear. Without the extension dawn
 * clears it by a loop in the shader.
 */
export const CHEAP_ZEROS =
  'disable-dawn-features=use_vulkan_zero_initialize_workgroup_memory_extension';

/** Indices are not clamped: kernels must keep to their buffers by themselves. */
export const NO_CLAMPS = 'enable-dawn-features=disable_robustness';
