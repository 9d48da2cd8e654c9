// Reductions of attention-half.wgsl where the workgroup is one subgroup of 32.

// Lanes that get the same sum.
const SHARERS = TOKEN_LANES / LOADS;

// The token of the tile whose logits this lane gets, as `sumsOfTokens` leaves them: the bits of a load number are the upper
// bits of the lane among those that share a token.
fn tokenOf(lane: u32) -> u32 {
  return lane % TOKEN_LANES / SHARERS * LOAD_TOKENS + lane / TOKEN_LANES;
}

// Several lanes have the same token; one of them holds it.
fn isHolder(lane: u32) -> bool {
  return lane % SHARERS == 0u;
}

// Parts of dot products by load, added up over the lanes that share a token. Each step halves what a lane has.
fn sumsOfTokens(dots: Rows, lane: u32) -> vec4<f32> {
  let first = folded(dots.a, dots.e, TOKEN_LANES / 2u, lane);
  let second = folded(dots.b, dots.f, TOKEN_LANES / 2u, lane);
  let third = folded(dots.c, dots.g, TOKEN_LANES / 2u, lane);
  let fourth = folded(dots.d, dots.h, TOKEN_LANES / 2u, lane);
  let even = folded(first, third, TOKEN_LANES / 4u, lane);
  let odd = folded(second, fourth, TOKEN_LANES / 4u, lane);
  var sum = folded(even, odd, SHARERS, lane);
  if (SHARERS > 2u) {
    sum += subgroupShuffleXor(sum, 2u);
  }
  if (SHARERS > 1u) {
    sum += subgroupShuffleXor(sum, 1u);
  }
  return sum;
}

fn folded(low: vec4<f32>, high: vec4<f32>, stride: u32, lane: u32) -> vec4<f32> {
  let upper = (lane & stride) != 0u;
  return select(low, high, upper) + subgroupShuffleXor(select(high, low, upper), stride);
}

// What weights are relative to: the largest logit so far, raised only when a logit lies far above it. The answer of a vote is
// the same in all lanes, which compilers of WGSL do not know.
@diagnostic(off, subgroup_uniformity)
fn raisedMaximum(maximum: vec4<f32>, logits: vec4<f32>, lane: u32) -> vec4<f32> {
  if (!subgroupAny(any(logits > maximum + SLACK))) {
    return maximum;
  }
  return max(maximum, subgroupMax(logits));
}

// Added up over the lanes that have the same chunk.
fn sumOfChunks(value: vec4<f32>, lane: u32) -> vec4<f32> {
  var sum = value;
  if (TOKEN_LANES <= 16u) {
    sum += subgroupShuffleXor(sum, 16u);
  }
  if (TOKEN_LANES <= 8u) {
    sum += subgroupShuffleXor(sum, 8u);
  }
  return sum;
}
