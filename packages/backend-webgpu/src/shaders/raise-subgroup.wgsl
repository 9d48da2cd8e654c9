// The running maximum of logits to base 2, where the workgroup is one subgroup.

// It stays while no logit is larger by more than this: weights may be as large as 2^8.
const SLACK = vec4<f32>(8.0);

// The maximum so far, or that of all lanes where one is too far above it.
fn raisedBy(value: vec4<f32>, maximum: vec4<f32>, lane: u32) -> vec4<f32> {
  if (subgroupAny(any(value > maximum + SLACK))) {
    return max(maximum, largestOfLanes(value, lane));
  }
  return maximum;
}
