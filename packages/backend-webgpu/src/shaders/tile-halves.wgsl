// f16 numbers of a tile as f32, four at a time.

alias Halves = array<vec2<u32>, PATCH_SLOTS * PATCH_QUADS>;
alias Patch = array<vec4<f32>, PATCH_SLOTS * PATCH_QUADS>;

// A device may flush what is subnormal as f16; where all exponents are set, nothing is.
fn readPatch(quads: ptr<function, Halves>, values: ptr<function, Patch>) {
  var normal = vec2<u32>(0x80008000u);
  for (var s = 0u; s < PATCH_SLOTS; s += 1u) {
    for (var q = 0u; q < PATCH_QUADS; q += 1u) {
      // A carry into the place of the sign.
      normal &= ((*quads)[s * PATCH_QUADS + q] & vec2<u32>(0x7c007c00u)) + vec2<u32>(0x7c007c00u);
    }
  }
  if (all(normal == vec2<u32>(0x80008000u))) {
    for (var s = 0u; s < PATCH_SLOTS; s += 1u) {
      for (var q = 0u; q < PATCH_QUADS; q += 1u) {
        let quad = (*quads)[s * PATCH_QUADS + q];
        (*values)[s * PATCH_QUADS + q] = vec4<f32>(unpack2x16float(quad.x), unpack2x16float(quad.y));
      }
    }
  } else {
    for (var s = 0u; s < PATCH_SLOTS; s += 1u) {
      for (var q = 0u; q < PATCH_QUADS; q += 1u) {
        (*values)[s * PATCH_QUADS + q] = fourValues((*quads)[s * PATCH_QUADS + q]);
      }
    }
  }
}

// f16Value without conversions: numbers are read 2^112 too large, subnormal ones less the bit that they do not have.
fn fourValues(quad: vec2<u32>) -> vec4<f32> {
  let halves = vec4<u32>(quad.x << 16u, quad.x, quad.y << 16u, quad.y);
  let magnitudes = (halves >> vec4<u32>(3u)) & vec4<u32>(0x0fffe000u);
  let small = magnitudes < vec4<u32>(0x00800000u);
  let large = bitcast<vec4<f32>>(magnitudes + select(vec4<u32>(0x70000000u), vec4<u32>(0x70800000u), small));
  let values = large * 1.925929944387236e-34 - select(vec4<f32>(0.0), vec4<f32>(6.103515625e-5), small);
  return bitcast<vec4<f32>>(bitcast<vec4<u32>>(values) | (halves & vec4<u32>(0x80000000u)));
}
