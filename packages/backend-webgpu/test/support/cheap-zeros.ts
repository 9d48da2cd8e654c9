/**
 * A switch of dawn, also a flag of Chromium: SwiftShader compiles one store for each element of workgroup memory that the
 * driver is to clear. Without the extension dawn clears it by a loop in the shader.
 */
export const CHEAP_ZEROS =
  'disable-dawn-features=use_vulkan_zero_initialize_workgroup_memory_extension';
