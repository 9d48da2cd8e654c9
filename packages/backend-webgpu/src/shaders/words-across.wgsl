// Code words of a patch that hold neighbour channels of one slot: RUN_WORDS each.

fn putCodes(values: ptr<function, Patch>, pack: Pack, page: u32, firstSlot: u32, firstChannel: u32, row: u32, column: u32) {
  var words = array<u32, PATCH_SLOTS * RUN_WORDS>();
  for (var q = 0u; q < PATCH_QUADS; q += 1u) { // unrolled
    let steps = quadSteps(row, column, q, 0u);
    for (var s = 0u; s < PATCH_SLOTS; s += 1u) { // unrolled
      let codes = fourCodes((*values)[s * PATCH_QUADS + q], slotSteps(steps, row, column, s, 0u)) ^ vec4<u32>(CODE_FLIP);
      for (var i = 0u; i < 4u; i += 1u) {
        let place = codePlace(4u * q + i);
        let at = s * RUN_WORDS + place.x;
        words[at] |= codes[i] << place.y;
        if (place.y + tensor_bits > 32u) {
          words[at + 1u] |= codes[i] >> (32u - place.y);
        }
      }
    }
  }
  let word = (firstChannel + column * PATCH_CHANNELS) * tensor_bits / 32u;
  for (var s = 0u; s < PATCH_SLOTS; s += 1u) { // unrolled
    let slot = firstSlot + row * PATCH_SLOTS + s;
    if (isPacked(pack, slot)) {
      for (var w = 0u; w < RUN_WORDS; w += 1u) {
        putWord(page + codeWord(word + w, slot), words[s * RUN_WORDS + w]);
      }
    }
  }
}
