// Codes of 4 bits: a byte holds the codes of two tokens, or channels, a word four of the reduction, a vector of words two words
// of the reduction for the four tokens of a lane. Whole bytes are summed beside their low fields: the difference is 16 times
// the sum of the high ones.

const tensor_slopes = vec4<f32>(1.0, 0.0625, 1.0, 0.0625);
const tensor_isTop = vec4<bool>(false, true, false, true);
const tensor_offsets = vec4<f32>(tensor_lowOffset, tensor_topOffset, tensor_lowOffset, tensor_topOffset);

// A vector of words against vectors `at` and `at + 1` of set number `own` of parts. Two dot products and a sum are added in
// one instruction.
fn tensor_meet(sums: ptr<function, Sums>, words: vec4<u32>, at: u32, own: u32) {
  tensor_meetFields(sums, words, words & vec4<u32>(0x0f0f0f0fu), (tensor_firstSet + own) * SET + at);
}

fn tensor_meetFields(sums: ptr<function, Sums>, words: vec4<u32>, fields: vec4<u32>, first: u32) {
  let high = parts[first];
  let nextHigh = parts[first + 1u];
  (*sums).highA += tensor_dots(fields.x, high) + tensor_dots(fields.z, nextHigh);
  (*sums).highB += tensor_dots(words.x, high) + tensor_dots(words.z, nextHigh);
  (*sums).highC += tensor_dots(fields.y, high) + tensor_dots(fields.w, nextHigh);
  (*sums).highD += tensor_dots(words.y, high) + tensor_dots(words.w, nextHigh);
  if (PARTS == 2u) {
    let second = first + tensor_sets * SET;
    let low = parts[second];
    let nextLow = parts[second + 1u];
    (*sums).lowA += tensor_dots(fields.x, low) + tensor_dots(fields.z, nextLow);
    (*sums).lowB += tensor_dots(words.x, low) + tensor_dots(words.z, nextLow);
    (*sums).lowC += tensor_dots(fields.y, low) + tensor_dots(fields.w, nextLow);
    (*sums).lowD += tensor_dots(words.y, low) + tensor_dots(words.w, nextLow);
  }
}

fn tensor_fieldSums(a: vec4<f32>, b: vec4<f32>, c: vec4<f32>, d: vec4<f32>) -> Rows {
  return Rows(settled(a - tensor_numberZero), settled(b - a), settled(c - tensor_numberZero), settled(d - c));
}
