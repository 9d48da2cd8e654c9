// Codes of 3 bits: a byte holds the codes of two tokens, or channels, in its lowest six bits, a word four of the reduction.
// Where sixteen of the reduction meet two neighbours, the fourth word is spread over the highest bits of the other three.

const tensor_slopes = vec4<f32>(1.0, 0.125, 1.0, 0.125);
const tensor_isTop = vec4<bool>(false, false, false, false);
const tensor_offsets = vec4<f32>(tensor_lowOffset, tensor_lowOffset, tensor_lowOffset, tensor_lowOffset);

// The vector that is spread over three. Bits beyond the fields are left as they come.
fn tensor_spread(first: vec4<u32>, second: vec4<u32>, third: vec4<u32>) -> vec4<u32> {
  let upper = second >> vec4<u32>(4u);
  // Bits of one number or of another by one instruction.
  let pair = (((first >> vec4<u32>(6u)) ^ upper) & vec4<u32>(0x03030303u)) ^ upper;
  let top = third >> vec4<u32>(2u);
  return ((pair ^ top) & vec4<u32>(0x0f0f0f0fu)) ^ top;
}

// A vector of words against vectors `at` and `at + 4` of set number `own` of parts. Two dot products and a sum are added in
// one instruction.
fn tensor_meet(sums: ptr<function, Sums>, words: vec4<u32>, at: u32, own: u32) {
  let first = (tensor_firstSet + own) * SET + at;
  let fields = words & vec4<u32>(0x07070707u);
  let upper = words & vec4<u32>(0x38383838u);
  let high = parts[first];
  let nextHigh = parts[first + 4u];
  (*sums).highA += tensor_dots(fields.x, high) + tensor_dots(fields.z, nextHigh);
  (*sums).highB += tensor_dots(upper.x, high) + tensor_dots(upper.z, nextHigh);
  (*sums).highC += tensor_dots(fields.y, high) + tensor_dots(fields.w, nextHigh);
  (*sums).highD += tensor_dots(upper.y, high) + tensor_dots(upper.w, nextHigh);
  if (PARTS == 2u) {
    let second = first + tensor_sets * SET;
    let low = parts[second];
    let nextLow = parts[second + 4u];
    (*sums).lowA += tensor_dots(fields.x, low) + tensor_dots(fields.z, nextLow);
    (*sums).lowB += tensor_dots(upper.x, low) + tensor_dots(upper.z, nextLow);
    (*sums).lowC += tensor_dots(fields.y, low) + tensor_dots(fields.w, nextLow);
    (*sums).lowD += tensor_dots(upper.y, low) + tensor_dots(upper.w, nextLow);
  }
}

fn tensor_fieldSums(a: vec4<f32>, b: vec4<f32>, c: vec4<f32>, d: vec4<f32>) -> Rows {
  let zero = vec4<f32>(tensor_numberZero);
  return Rows(settled(a - zero), settled(b - zero), settled(c - zero), settled(d - zero));
}
