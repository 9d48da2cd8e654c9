// Codes of 8 bits: a vector of words holds four codes along the reduction of four tokens, or channels.

const tensor_slopes = vec4<f32>(1.0, 1.0, 1.0, 1.0);
const tensor_offsets = vec4<f32>(tensor_topOffset, tensor_topOffset, tensor_topOffset, tensor_topOffset);

// Two vectors of words against vectors `at` and `at + 1` of set number `own` of parts.
fn tensor_meet(sums: ptr<function, Sums>, first: vec4<u32>, second: vec4<u32>, at: u32, own: u32) {
  let ownSet = tensor_firstSet + own;
  let high = parts[ownSet][at];
  let nextHigh = parts[ownSet][at + 1u];
  (*sums).highA += tensor_dots(first.x, high) + tensor_dots(second.x, nextHigh);
  (*sums).highB += tensor_dots(first.y, high) + tensor_dots(second.y, nextHigh);
  (*sums).highC += tensor_dots(first.z, high) + tensor_dots(second.z, nextHigh);
  (*sums).highD += tensor_dots(first.w, high) + tensor_dots(second.w, nextHigh);
  if (PARTS == 2u) {
    let low = parts[ownSet + tensor_sets][at];
    let nextLow = parts[ownSet + tensor_sets][at + 1u];
    (*sums).lowA += tensor_dots(first.x, low) + tensor_dots(second.x, nextLow);
    (*sums).lowB += tensor_dots(first.y, low) + tensor_dots(second.y, nextLow);
    (*sums).lowC += tensor_dots(first.z, low) + tensor_dots(second.z, nextLow);
    (*sums).lowD += tensor_dots(first.w, low) + tensor_dots(second.w, nextLow);
  }
}

fn tensor_fieldSums(a: vec4<f32>, b: vec4<f32>, c: vec4<f32>, d: vec4<f32>) -> Rows {
  return Rows(a - tensor_numberZero, b - tensor_numberZero, c - tensor_numberZero, d - tensor_numberZero);
}
