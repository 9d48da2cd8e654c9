// Codes in the order of the reduction, code-places-reduction.wgsl.

// One invocation: one word, or those that a word is spread over. Values: (words of tokens, channels of a byte). Keys: (slots of
// a byte, words of channels).
@compute @workgroup_size(PACK_SIZE)
fn packCodes(@builtin(global_invocation_id) id: vec3<u32>) {
  let pack = packOf(id.z);
  let head = id.y;
  let end = pack.slot + pack.count;
  var first = 0u;
  var other = 0u;
  if (tensor_reducesTokens) {
    let perRun = tensor_headDim / tensor_fields;
    first = (pack.slot / tensor_elementsOfWords + id.x / perRun) * tensor_elementsOfWords;
    other = (id.x % perRun) * tensor_fields;
    if (first >= end) {
      return;
    }
  } else {
    let perRun = tensor_headDim / tensor_elementsOfWords;
    first = (id.x % perRun) * tensor_elementsOfWords;
    other = (pack.slot / tensor_fields + id.x / perRun) * tensor_fields;
    if (other >= end) {
      return;
    }
  }
  for (var number = first; number < first + tensor_elementsOfWords; number += 4u) {
    var word = 0u;
    var mask = 0u;
    for (var i = 0u; i < 4u * tensor_fields; i += 1u) {
      let slot = select(other + i / 4u, number + i % 4u, tensor_reducesTokens);
      let channel = select(number + i % 4u, other + i / 4u, tensor_reducesTokens);
      if (slot < pack.slot || slot >= end) {
        continue;
      }
      let value = scratchValue(elementIndex(pack, slot, head, channel));
      let code = reductionCode(storedCode(value, parametersAt(pack.page, head, slot, channel)), other + i / 4u);
      let shift = reductionShift(number + i % 4u, other + i / 4u);
      word |= code << shift;
      mask |= tensor_codeMask << shift;
    }
    putReduced(pack.page + head * tensor_headWords, number, other, word, mask);
  }
}

// Bits of a word that are not in the mask stay as they are.
fn putBits(index: u32, word: u32, mask: u32) {
  memory[index] = (memory[index] & ~mask) | (word & mask);
}
