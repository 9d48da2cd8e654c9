// Where the order of the reduction keeps codes: attention reduces over channels of keys and tokens of values. A word holds
// 32 / bits codes of the reduction; byte k, field f is number 4 f + k of them. Words lie [word of the reduction, other index].
// Unsigned codes are stored less half their range, so that a field in the high bits of a byte is a signed number.

const CODE_FLIP = tensor_codeFlip;
// Neighbours in memory are the same word of other rows.
const NEIGHBOURS_OTHER = true;

// Word and lowest bit of code `number` of the reduction.
fn codePlace(number: u32) -> vec2<u32> {
  let codes = 32u / tensor_bits;
  let i = number % codes;
  return vec2<u32>(number / codes, 8u * (i % 4u) + tensor_bits * (i / 4u));
}

// Word `word` of the reduction of slot or channel `other` in the codes of a head.
fn codeWord(word: u32, other: u32) -> u32 {
  return word * select(tensor_blockTokens, tensor_headDim, tensor_reducesTokens) + other;
}
