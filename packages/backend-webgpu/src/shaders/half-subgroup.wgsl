// Reductions of attention-half.wgsl where the workgroup is one subgroup of 32.

// The token of the tile whose logits this lane gets, as `sumsOfTokens` leaves them: the bits of a load number are the upper
// bits of the lane among those that share a token.
fn tokenOf(lane: u32) -> u32 {
  return lane % key_lanes / (key_lanes / key_loads) * key_rows + lane / key_lanes;
}

// Several lanes have the same token; one of them holds it.
fn isHolder(lane: u32) -> bool {
  return lane % (key_lanes / key_loads) == 0u;
}

// Parts of dot products, added up over the lanes that share a token. Each step halves what a lane has.
fn sumsOfTokens(dots: array<vec4<f32>, key_loads>, lane: u32) -> vec4<f32> {
  var held = dots;
  for (var i = 0u; i < key_loads / 2u; i += 1u) {
    held[i] = folded(held[i], held[i + key_loads / 2u], key_lanes / 2u, lane);
  }
  for (var i = 0u; i < key_loads / 4u; i += 1u) {
    held[i] = folded(held[i], held[i + key_loads / 4u], key_lanes / 4u, lane);
  }
  for (var i = 0u; i < key_loads / 8u; i += 1u) {
    held[i] = folded(held[i], held[i + key_loads / 8u], key_lanes / 8u, lane);
  }
  var sum = held[0];
  for (var stride = key_lanes / key_loads / 2u; stride > 0u; stride /= 2u) {
    sum += subgroupShuffleXor(sum, stride);
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
  for (var stride = LANES / 2u; stride >= value_lanes; stride /= 2u) {
    sum += subgroupShuffleXor(sum, stride);
  }
  return sum;
}
