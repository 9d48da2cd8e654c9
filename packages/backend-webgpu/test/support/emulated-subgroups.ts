/**
 * A device that claims subgroups of 32 and runs their operations through workgroup memory: shaders that no processor here has
 * subgroups for run anyway. Shaders name the lane `lane` wherever they use such an operation.
 */
import { swiftShaderDevice } from './swiftshader.js';

const HELPERS = `
var<workgroup> emulated_values: array<vec4<f32>, 32>;
var<workgroup> emulated_vote: u32;

fn emulatedShuffleXor(lane: u32, value: vec4<f32>, mask: u32) -> vec4<f32> {
  workgroupBarrier();
  emulated_values[lane] = value;
  workgroupBarrier();
  return emulated_values[lane ^ mask];
}

fn emulatedAny(lane: u32, value: bool) -> bool {
  workgroupBarrier();
  if (lane == 0u) {
    emulated_vote = 0u;
  }
  workgroupBarrier();
  if (value) {
    emulated_vote = 1u;
  }
  return workgroupUniformLoad(&emulated_vote) == 1u;
}

fn emulatedMax(lane: u32, value: vec4<f32>) -> vec4<f32> {
  var all = value;
  for (var mask = 16u; mask > 0u; mask /= 2u) {
    all = max(all, emulatedShuffleXor(lane, all, mask));
  }
  return all;
}

fn emulatedAdd(lane: u32, value: vec4<f32>) -> vec4<f32> {
  var all = value;
  for (var mask = 16u; mask > 0u; mask /= 2u) {
    all += emulatedShuffleXor(lane, all, mask);
  }
  return all;
}
`;

export async function emulatedSubgroupsDevice(): Promise<GPUDevice> {
  const device = await swiftShaderDevice();
  const create = device.createShaderModule.bind(device);
  device.createShaderModule = (descriptor) =>
    create({ ...descriptor, code: withoutSubgroups(descriptor.code) });
  const { vendor, architecture, description } = device.adapterInfo;
  const sizes = { subgroupMinSize: 32, subgroupMaxSize: 32 };
  Object.defineProperty(device, 'adapterInfo', {
    value: { vendor, architecture, description, ...sizes },
  });
  Object.defineProperty(device, 'features', { value: new Set([...device.features, 'subgroups']) });
  return device;
}

function withoutSubgroups(code: string): string {
  if (!code.includes('enable subgroups;')) return code;
  const text = code
    .replace('enable subgroups;', '')
    .replace(/\bsubgroup(ShuffleXor|Any|Max|Add)\(/g, 'emulated$1(lane, ');
  return text + HELPERS;
}
