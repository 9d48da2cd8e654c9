// f16 numbers of a tile as f32, four at a time.

alias Patch = array<vec4<f32>, PATCH_SLOTS * PATCH_QUADS>;

// f16Value without conversions: numbers are read 2^112 too large, subnormal ones less the bit that they do not have.
fn fourValues(quad: vec2<u32>) -> vec4<f32> {
  let halves = vec4<u32>(quad.x << 16u, quad.x, quad.y << 16u, quad.y);
  let magnitudes = (halves >> vec4<u32>(3u)) & vec4<u32>(0x0fffe000u);
  let small = magnitudes < vec4<u32>(0x00800000u);
  let large = bitcast<vec4<f32>>(magnitudes + select(vec4<u32>(0x70000000u), vec4<u32>(0x70800000u), small));
  let values = large * 1.925929944387236e-34 - select(vec4<f32>(0.0), vec4<f32>(6.103515625e-5), small);
  return bitcast<vec4<f32>>(bitcast<vec4<u32>>(values) | (halves & vec4<u32>(0x80000000u)));
}
