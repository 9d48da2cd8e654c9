// Codes in the order in which attention reduces over them: keys by channel, values by token. A byte holds the codes of
// neighbours on the other axis, a word four of the reduction, a vector of four words those of four neighbours on the other
// axis. The upper bit of codes is flipped where the fields of a byte must be signed or unsigned; see integer-fields-*.wgsl.

const tensor_fields = 8u / tensor_bits;

// Word of the codes of a head with element `number` of the reduction and `other` of the other axis.
fn reductionWord(number: u32, other: u32) -> u32 {
  let quad = number / 4u;
  return ((quad / tensor_fields) * (tensor_otherCount / 4u) + other / 4u) * 4u +
    (quad % tensor_fields) * (4u / tensor_fields) + (other % 4u) / tensor_fields;
}

fn reductionShift(number: u32, other: u32) -> u32 {
  return 8u * (number % 4u) + tensor_bits * (other % tensor_fields);
}

fn reductionCode(code: u32, other: u32) -> u32 {
  let top = other % tensor_fields == tensor_fields - 1u;
  return code ^ select(tensor_lowFlip, tensor_topFlip, top);
}
