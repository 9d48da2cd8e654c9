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

// One invocation: one word. Values: (word of tokens, channels of a byte). Keys: (slots of a byte, word of channels).
@compute @workgroup_size(PACK_SIZE)
fn packCodes(@builtin(global_invocation_id) id: vec3<u32>) {
  let pack = packOf(id.z);
  let head = id.y;
  let end = pack.slot + pack.count;
  var number = 0u;
  var other = 0u;
  if (tensor_reducesTokens) {
    let perWord = tensor_headDim / tensor_fields;
    number = (pack.slot / 4u + id.x / perWord) * 4u;
    other = (id.x % perWord) * tensor_fields;
    if (number >= end) {
      return;
    }
  } else {
    number = (id.x % (tensor_headDim / 4u)) * 4u;
    other = (pack.slot / tensor_fields + id.x / (tensor_headDim / 4u)) * tensor_fields;
    if (other >= end) {
      return;
    }
  }
  let at = pack.page + head * tensor_headWords + reductionWord(number, other);
  var bits = memory[at];
  for (var i = 0u; i < 4u * tensor_fields; i += 1u) {
    let slot = select(other + i / 4u, number + i % 4u, tensor_reducesTokens);
    let channel = select(number + i % 4u, other + i / 4u, tensor_reducesTokens);
    if (slot < pack.slot || slot >= end) {
      continue;
    }
    let value = scratchValue(elementIndex(pack, slot, head, channel));
    let code = reductionCode(storedCode(value, parametersAt(pack.page, head, slot, channel)), other + i / 4u);
    let shift = reductionShift(number + i % 4u, other + i / 4u);
    bits = (bits & ~(tensor_codeMask << shift)) | (code << shift);
  }
  memory[at] = bits;
}
