// Code words of a patch that hold four neighbour channels by the slots of a byte.

fn putCodes(values: ptr<function, Patch>, pack: Pack, page: u32, firstSlot: u32, firstChannel: u32, row: u32, column: u32, isWhole: bool) {
  for (var q = 0u; q < PATCH_QUADS; q += 1u) {
    let steps = quadSteps(row, column, q, 0u);
    let channel = column * PATCH_CHANNELS + 4u * q;
    for (var first = 0u; first < PATCH_SLOTS; first += BYTE_FIELDS) {
      var word = 0u;
      for (var field = 0u; field < BYTE_FIELDS; field += 1u) {
        let s = first + field;
        let codes = fourCodes((*values)[s * PATCH_QUADS + q], slotSteps(steps, row, column, s, 0u)) ^ vec4<u32>(select(tensor_lowFlip, tensor_topFlip, field == tensor_fields - 1u));
        word |= (codes.x | (codes.y << 8u) | (codes.z << 16u) | (codes.w << 24u)) << (tensor_bits * field);
      }
      let slot = row * PATCH_SLOTS + first;
      if (isWhole) {
        putInTile(channel, slot, word);
      } else {
        putReduced(page, firstChannel + channel, firstSlot + slot, word, packedFields(pack, firstSlot + slot));
      }
    }
  }
}

// Bits of a word whose slots are packed now.
fn packedFields(pack: Pack, slot: u32) -> u32 {
  var mask = 0u;
  for (var field = 0u; field < BYTE_FIELDS; field += 1u) {
    mask |= select(0u, (tensor_codeMask * 0x01010101u) << (tensor_bits * field), isPacked(pack, slot + field));
  }
  return mask;
}
