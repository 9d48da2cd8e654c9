/**
 * Imported before a benchmark on a machine without a GPU: SwiftShader's Vulkan driver is in the process then.
 */
import { swiftShaderGpu } from '../../../packages/backend-webgpu/test/support/swiftshader.js';

await swiftShaderGpu();
