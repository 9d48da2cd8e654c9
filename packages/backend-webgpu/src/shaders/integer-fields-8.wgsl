// Codes of 8 bits: a vector of words holds four codes along the reduction of four tokens, or channels.

const tensor_slopes = vec4<f32>(1.0, 1.0, 1.0, 1.0);
const tensor_isTop = vec4<bool>(true, true, true, true);
const tensor_offsets = vec4<f32>(tensor_topOffset, tensor_topOffset, tensor_topOffset, tensor_topOffset);

// Two vectors of words against vectors `at` and `at + 1` of set number `own` of parts.
fn tensor_meet(sums: ptr<function, Sums>, words: vec4<u32>, next: vec4<u32>, at: u32, own: u32) {
  let first = (tensor_firstSet + own) * SET + at;
  let high = parts[first];
  let nextHigh = parts[first + 1u];
  (*sums).highA += tensor_dots(words.x, high) + tensor_dots(next.x, nextHigh);
  (*sums).highB += tensor_dots(words.y, high) + tensor_dots(next.y, nextHigh);
  (*sums).highC += tensor_dots(words.z, high) + tensor_dots(next.z, nextHigh);
  (*sums).highD += tensor_dots(words.w, high) + tensor_dots(next.w, nextHigh);
  if (PARTS == 2u) {
    let second = first + tensor_sets * SET;
    let low = parts[second];
    let nextLow = parts[second + 1u];
    (*sums).lowA += tensor_dots(words.x, low) + tensor_dots(next.x, nextLow);
    (*sums).lowB += tensor_dots(words.y, low) + tensor_dots(next.y, nextLow);
    (*sums).lowC += tensor_dots(words.z, low) + tensor_dots(next.z, nextLow);
    (*sums).lowD += tensor_dots(words.w, low) + tensor_dots(next.w, nextLow);
  }
}

fn tensor_fieldSums(a: vec4<f32>, b: vec4<f32>, c: vec4<f32>, d: vec4<f32>) -> Rows {
  return Rows(settled(a - tensor_numberZero), settled(b - tensor_numberZero), settled(c - tensor_numberZero), settled(d - tensor_numberZero));
}
