// Codes in the order in which attention reduces over them: keys by channel, values by token. A byte holds the codes of
// neighbours on the other axis, a word four of the reduction, a vector of four words those of four neighbours on the other
// axis. The upper bit of codes is flipped where the fields of a byte must be signed or unsigned; see integer-fields-*.wgsl.
//
// With 3 bits a byte holds two codes in its lowest six bits, and of four words that are sixteen of the reduction the last is
// not stored: its six bits a byte are the highest two of the other three.

const tensor_fields = 8u / tensor_bits;
const tensor_isSpread = tensor_bits == 3u;
// Elements of the reduction whose codes share words with each other.
const tensor_elementsOfWords = select(4u, 16u, tensor_isSpread);

// Where the word of four elements of the reduction lies: the run of vectors of all others, and the word in a vector.
fn reductionRun(quad: u32) -> u32 {
  return select(quad / tensor_fields, quad / 8u * 3u + quad % 4u, tensor_isSpread);
}

fn reductionPart(quad: u32, other: u32) -> u32 {
  let first = select(quad % tensor_fields, quad / 4u % 2u, tensor_isSpread);
  return first * (4u / tensor_fields) + other % 4u / tensor_fields;
}

// Word of the codes of a head with element `number` of the reduction and `other` of the other axis, unless it is spread.
fn reductionWord(number: u32, other: u32) -> u32 {
  let quad = number / 4u;
  return (reductionRun(quad) * (tensor_otherCount / 4u) + other / 4u) * 4u + reductionPart(quad, other);
}

fn isSpreadWord(number: u32) -> bool {
  return tensor_isSpread && number % 16u >= 12u;
}

// What word `part` of the other three keeps of a spread word.
fn spreadBits(word: u32, part: u32) -> u32 {
  return ((word >> (2u * part)) & 0x03030303u) << 6u;
}

// In a word.
fn reductionShift(number: u32, other: u32) -> u32 {
  return 8u * (number % 4u) + tensor_bits * (other % tensor_fields);
}

fn reductionCode(code: u32, other: u32) -> u32 {
  let top = other % tensor_fields == tensor_fields - 1u;
  return code ^ select(tensor_lowFlip, tensor_topFlip, top);
}

// Writes the bits in `mask` of the word with element `number` of the reduction and the three after it. `base`: the first word of
// the head.
fn putReduced(base: u32, number: u32, other: u32, word: u32, mask: u32) {
  if (isSpreadWord(number)) {
    for (var part = 0u; part < 3u; part += 1u) {
      putBits(base + reductionWord(number - 12u + 4u * part, other), spreadBits(word, part), spreadBits(mask, part));
    }
  } else {
    putBits(base + reductionWord(number, other), word, mask);
  }
}
