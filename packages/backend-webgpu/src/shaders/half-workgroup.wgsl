// Reductions of attention-half.wgsl through workgroup memory, which any device has.

// Parts of dot products by load and lane.
var<workgroup> lane_dots: array<vec4<f32>, key_loads * LANES>;

// The token of the tile whose logits this lane gets.
fn tokenOf(lane: u32) -> u32 {
  return lane % TILE;
}

fn isHolder(lane: u32) -> bool {
  return lane < TILE;
}

// Parts of dot products, added up over the lanes that share a token.
fn sumsOfTokens(dots: array<vec4<f32>, key_loads>, lane: u32) -> vec4<f32> {
  for (var i = 0u; i < key_loads; i += 1u) {
    lane_dots[i * LANES + lane] = dots[i];
  }
  workgroupBarrier();
  var sum = vec4<f32>(0.0);
  for (var i = 0u; i < key_lanes; i += 1u) {
    // Lanes begin at different places: they meet different banks.
    sum += lane_dots[tokenOf(lane) * key_lanes + (i + lane) % key_lanes];
  }
  return sum;
}

// What weights are relative to: the largest logit so far.
fn raisedMaximum(maximum: vec4<f32>, logits: vec4<f32>, lane: u32) -> vec4<f32> {
  return max(maximum, largestOfLanes(logits, lane));
}

// Added up over the lanes that have the same chunk.
fn sumOfChunks(value: vec4<f32>, lane: u32) -> vec4<f32> {
  workgroupBarrier();
  lane_dots[lane] = value;
  workgroupBarrier();
  var sum = vec4<f32>(0.0);
  for (var i = lane % value_lanes; i < LANES; i += value_lanes) {
    sum += lane_dots[i];
  }
  return sum;
}
