// Codes of 2 bits: a byte holds the codes of the four tokens, or channels, of a lane, a word four of the reduction, a vector of
// words four words of the reduction. Sums go over the lowest field, the lowest two, the lowest three and whole bytes: their
// differences are 4, 16 and 64 times the sums of fields.

const tensor_slopes = vec4<f32>(1.0, 0.25, 0.0625, 0.015625);
const tensor_isTop = vec4<bool>(false, false, false, true);
const tensor_offsets = vec4<f32>(tensor_lowOffset, tensor_lowOffset, tensor_lowOffset, tensor_topOffset);

// A vector of words against vectors `at` to `at + 3` of set number `own` of parts. Two dot products and a sum are added in
// one instruction.
fn tensor_meet(sums: ptr<function, Sums>, words: vec4<u32>, at: u32, own: u32) {
  let first = (tensor_firstSet + own) * SET + at;
  let one = words & vec4<u32>(0x03030303u);
  let two = words & vec4<u32>(0x0f0f0f0fu);
  let three = words & vec4<u32>(0x3f3f3f3fu);
  let high = PartWords(parts[first], parts[first + 1u], parts[first + 2u], parts[first + 3u]);
  (*sums).highA += tensor_dots(one.x, high.a) + tensor_dots(one.y, high.b);
  (*sums).highB += tensor_dots(two.x, high.a) + tensor_dots(two.y, high.b);
  (*sums).highC += tensor_dots(three.x, high.a) + tensor_dots(three.y, high.b);
  (*sums).highD += tensor_dots(words.x, high.a) + tensor_dots(words.y, high.b);
  (*sums).highA += tensor_dots(one.z, high.c) + tensor_dots(one.w, high.d);
  (*sums).highB += tensor_dots(two.z, high.c) + tensor_dots(two.w, high.d);
  (*sums).highC += tensor_dots(three.z, high.c) + tensor_dots(three.w, high.d);
  (*sums).highD += tensor_dots(words.z, high.c) + tensor_dots(words.w, high.d);
  if (PARTS == 2u) {
    let second = first + tensor_sets * SET;
    let low = PartWords(parts[second], parts[second + 1u], parts[second + 2u], parts[second + 3u]);
    (*sums).lowA += tensor_dots(one.x, low.a) + tensor_dots(one.y, low.b);
    (*sums).lowB += tensor_dots(two.x, low.a) + tensor_dots(two.y, low.b);
    (*sums).lowC += tensor_dots(three.x, low.a) + tensor_dots(three.y, low.b);
    (*sums).lowD += tensor_dots(words.x, low.a) + tensor_dots(words.y, low.b);
    (*sums).lowA += tensor_dots(one.z, low.c) + tensor_dots(one.w, low.d);
    (*sums).lowB += tensor_dots(two.z, low.c) + tensor_dots(two.w, low.d);
    (*sums).lowC += tensor_dots(three.z, low.c) + tensor_dots(three.w, low.d);
    (*sums).lowD += tensor_dots(words.z, low.c) + tensor_dots(words.w, low.d);
  }
}

fn tensor_fieldSums(a: vec4<f32>, b: vec4<f32>, c: vec4<f32>, d: vec4<f32>) -> Rows {
  return Rows(settled(a - tensor_numberZero), settled(b - a), settled(c - b), settled(d - c));
}
