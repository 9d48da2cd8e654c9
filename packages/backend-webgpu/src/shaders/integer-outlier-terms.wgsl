// Outliers of both tensors: where weights and places of tokens lie in turn, and what a record is worth.

const WEIGHTS = SPARE_SET * SET;
const PLACES = (SPARE_SET + 4u) * SET;
// The position of records that are none.
const NOWHERE = 128u;

fn lineFirst(entry: u32) -> u32 {
  return (entry >> 8u) & 0xffffu;
}

fn outlierTerm(bits: u32, places: vec4<f32>) -> f32 {
  let isInner = (bits & 0x10000u) == 0u;
  let base = select(places.x, places.z, isInner);
  let step = select(places.y, places.w, isInner);
  // 1 and 32nds.
  let code = bitcast<f32>((bits & 0x7c0000u) | 0x3f800000u);
  return bitcast<f32>(bitcast<u32>(base + step * code) ^ (bits & 0x80000000u));
}

fn holdWeights(lane: u32, rows: Rows) {
  parts[WEIGHTS + 4u * lane] = bitcast<vec4<u32>>(rows.a);
  parts[WEIGHTS + 4u * lane + 1u] = bitcast<vec4<u32>>(rows.b);
  parts[WEIGHTS + 4u * lane + 2u] = bitcast<vec4<u32>>(rows.c);
  parts[WEIGHTS + 4u * lane + 3u] = bitcast<vec4<u32>>(rows.d);
  if (lane == 0u) {
    parts[WEIGHTS + NOWHERE] = vec4<u32>(0u);
  }
}

fn fourVectors(first: u32) -> Rows {
  return Rows(
    bitcast<vec4<f32>>(parts[first]), bitcast<vec4<f32>>(parts[first + 1u]),
    bitcast<vec4<f32>>(parts[first + 2u]), bitcast<vec4<f32>>(parts[first + 3u]),
  );
}
