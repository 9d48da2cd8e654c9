// Codes in canonical order: rows of consecutive codes, a code at bit `bits * i` of its row.

@compute @workgroup_size(PACK_SIZE)
fn packCodes(@builtin(global_invocation_id) id: vec3<u32>) {
  let pack = packOf(id.z);
  let head = id.y;
  // The run of codes that is new: of a channel the packed slots, of a token all channels.
  var row = 0u;
  var word = 0u;
  var first = 0u;
  var end = tensor_headDim;
  if (tensor_alongTokens) {
    first = pack.slot;
    end = pack.slot + pack.count;
    let firstWord = first * tensor_bits / 32u;
    let words = (end * tensor_bits + 31u) / 32u - firstWord;
    row = id.x / words;
    word = firstWord + id.x % words;
    if (row >= tensor_headDim) {
      return;
    }
  } else {
    row = id.x / tensor_rowWords;
    word = id.x % tensor_rowWords;
    if (row >= pack.count) {
      return;
    }
    row += pack.slot;
  }
  let headBase = pack.page + head * tensor_headWords;
  let at = headBase + row * tensor_rowWords + word;
  var bits = memory[at];
  let firstBit = word * 32u;
  let begin = max(first, firstBit / tensor_bits);
  let until = min(end, (firstBit + 31u) / tensor_bits + 1u);
  for (var i = begin; i < until; i += 1u) {
    let slot = select(row, i, tensor_alongTokens);
    let channel = select(i, row, tensor_alongTokens);
    let value = scratchValue(elementIndex(pack, slot, head, channel));
    let code = storedCode(value, parametersAt(pack.page, head, slot, channel));
    // A 3-bit code may begin in the word before.
    let position = i32(i * tensor_bits) - i32(firstBit);
    if (position < 0) {
      let by = u32(-position);
      bits = (bits & ~(tensor_codeMask >> by)) | (code >> by);
    } else {
      let by = u32(position);
      bits = (bits & ~(tensor_codeMask << by)) | (code << by);
    }
  }
  memory[at] = bits;
}
