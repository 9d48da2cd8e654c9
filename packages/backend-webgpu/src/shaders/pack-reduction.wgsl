// Codes in the order of the reduction, code-places-reduction.wgsl.

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
