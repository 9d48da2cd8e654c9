// The running maximum of logits to base 2.

// The maximum of all lanes and of what was one so far.
fn raisedBy(value: vec4<f32>, maximum: vec4<f32>, lane: u32) -> vec4<f32> {
  return max(maximum, largestOfLanes(value, lane));
}
