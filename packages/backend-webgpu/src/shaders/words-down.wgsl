// Code words of a patch that hold neighbour slots of one channel: RUN_WORDS each.

fn putCodes(values: ptr<function, Patch>, pack: Pack, page: u32, firstSlot: u32, firstChannel: u32, row: u32, column: u32) {
  let slot = firstSlot + row * PATCH_SLOTS;
  for (var q = 0u; q < PATCH_QUADS; q += 1u) { // unrolled
    let steps = quadSteps(row, column, q, 0u);
    var words = array<vec4<u32>, RUN_WORDS>();
    for (var s = 0u; s < PATCH_SLOTS; s += 1u) { // unrolled
      let codes = fourCodes((*values)[s * PATCH_QUADS + q], slotSteps(steps, row, column, s, 0u)) ^ vec4<u32>(CODE_FLIP);
      let place = codePlace(s);
      words[place.x] |= codes << vec4<u32>(place.y);
      if (place.y + tensor_bits > 32u) {
        words[place.x + 1u] |= codes >> vec4<u32>(32u - place.y);
      }
    }
    let channel = firstChannel + column * PATCH_CHANNELS + 4u * q;
    let isWhole = isPacked(pack, slot) && isPacked(pack, slot + PATCH_SLOTS - 1u);
    for (var w = 0u; w < RUN_WORDS; w += 1u) {
      var mask = 0xffffffffu;
      if (!isWhole) {
        mask = packedBits(pack, slot, w);
      }
      for (var i = 0u; i < 4u; i += 1u) {
        putBits(page + codeWord(slot * tensor_bits / 32u + w, channel + i), words[w][i], mask);
      }
    }
  }
}

// Bits of word w of the patch whose slots are packed now. Codes that lie across two words are in patches that are whole.
fn packedBits(pack: Pack, slot: u32, w: u32) -> u32 {
  var mask = 0u;
  for (var s = 0u; s < PATCH_SLOTS; s += 1u) { // unrolled
    let place = codePlace(s);
    if (place.x == w && isPacked(pack, slot + s)) {
      mask |= tensor_codeMask << place.y;
    }
  }
  return mask;
}
