// Where canonical order keeps codes: code `number` of a row at bit `tensor_bits * number`.

// Word and lowest bit of a code.
fn codePlace(number: u32) -> vec2<u32> {
  let bit = number * tensor_bits;
  return vec2<u32>(bit / 32u, bit % 32u);
}

// Word `word` of row `other` in the codes of a head.
fn codeWord(word: u32, other: u32) -> u32 {
  return other * tensor_rowWords + word;
}
