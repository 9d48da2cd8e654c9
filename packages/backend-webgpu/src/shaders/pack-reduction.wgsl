// Codes in the order of the reduction, code-places-reduction.wgsl.

@compute @workgroup_size(PACK_SIZE)
fn packCodes(@builtin(global_invocation_id) id: vec3<u32>) {
  let pack = packOf(id.z);
  let head = id.y;
  let codes = 32u / tensor_bits;
  // Values: (word of tokens, channel). Keys: (slot, word of channels).
  var word = 0u;
  var other = 0u;
  var first = 0u;
  var end = tensor_headDim;
  if (tensor_reducesTokens) {
    first = pack.slot;
    end = pack.slot + pack.count;
    word = first / codes + id.x / tensor_headDim;
    other = id.x % tensor_headDim;
    if (word * codes >= end) {
      return;
    }
  } else {
    let words = tensor_headDim / codes;
    word = id.x % words;
    other = pack.slot + id.x / words;
    if (other >= pack.slot + pack.count) {
      return;
    }
  }
  let at = pack.page + head * tensor_headWords + codeWord(word, other);
  var bits = memory[at];
  for (var i = 0u; i < codes; i += 1u) {
    let number = word * codes + i;
    if (number < first || number >= end) {
      continue;
    }
    let slot = select(other, number, tensor_reducesTokens);
    let channel = select(number, other, tensor_reducesTokens);
    let value = scratchValue(elementIndex(pack, slot, head, channel));
    let code = storedCode(value, parametersAt(pack.page, head, slot, channel)) ^ CODE_FLIP;
    let shift = codePlace(i).y;
    bits = (bits & ~(tensor_codeMask << shift)) | (code << shift);
  }
  memory[at] = bits;
}
