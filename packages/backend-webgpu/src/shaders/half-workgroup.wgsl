// Reductions of attention-half.wgsl through workgroup memory, which any device has.

// Parts of dot products by load and lane.
var<workgroup> lane_dots: array<vec4<f32>, LOADS * LANES>;

// The token of the tile whose logits this lane gets.
fn tokenOf(lane: u32) -> u32 {
  return lane % TILE;
}

fn isHolder(lane: u32) -> bool {
  return lane < TILE;
}

// Parts of dot products by load, added up over the lanes that share a token.
fn sumsOfTokens(dots: Rows, lane: u32) -> vec4<f32> {
  lane_dots[lane] = dots.a;
  lane_dots[lane + LANES] = dots.b;
  lane_dots[lane + 2u * LANES] = dots.c;
  lane_dots[lane + 3u * LANES] = dots.d;
  lane_dots[lane + 4u * LANES] = dots.e;
  lane_dots[lane + 5u * LANES] = dots.f;
  lane_dots[lane + 6u * LANES] = dots.g;
  lane_dots[lane + 7u * LANES] = dots.h;
  workgroupBarrier();
  var sum = vec4<f32>(0.0);
  for (var i = 0u; i < TOKEN_LANES; i += 1u) {
    // Lanes begin at different places: they meet different banks.
    sum += lane_dots[tokenOf(lane) * TOKEN_LANES + (i + lane) % TOKEN_LANES];
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
  for (var i = lane % TOKEN_LANES; i < LANES; i += TOKEN_LANES) {
    sum += lane_dots[i];
  }
  return sum;
}
