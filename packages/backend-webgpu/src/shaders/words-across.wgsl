// Code words of a patch that hold neighbour channels of one slot.

const SLOT_WORDS = PATCH_CHANNELS * tensor_bits / 32u;

fn putCodes(values: ptr<function, Patch>, pack: Pack, page: u32, firstSlot: u32, firstChannel: u32, row: u32, column: u32) {
  var words: array<u32, PATCH_SLOTS * SLOT_WORDS>;
  for (var w = 0u; w < PATCH_SLOTS * SLOT_WORDS; w += 1u) {
    words[w] = 0u;
  }
  for (var q = 0u; q < PATCH_QUADS; q += 1u) {
    let steps = quadSteps(row, column, q, 0u);
    for (var s = 0u; s < PATCH_SLOTS; s += 1u) {
      let codes = fourCodes((*values)[s * PATCH_QUADS + q], slotSteps(steps, row, column, s, 0u)) ^ vec4<u32>(CODE_FLIP);
      for (var i = 0u; i < 4u; i += 1u) {
        let place = codePlace(4u * q + i);
        let at = s * SLOT_WORDS + place.x;
        words[at] |= codes[i] << place.y;
        if (place.y + tensor_bits > 32u) {
          words[at + 1u] |= codes[i] >> (32u - place.y);
        }
      }
    }
  }
  let word = (firstChannel + column * PATCH_CHANNELS) * tensor_bits / 32u;
  for (var s = 0u; s < PATCH_SLOTS; s += 1u) {
    let slot = firstSlot + row * PATCH_SLOTS + s;
    if (isPacked(pack, slot)) {
      for (var w = 0u; w < SLOT_WORDS; w += 1u) {
        putWord(page + codeWord(word + w, slot), words[s * SLOT_WORDS + w]);
      }
    }
  }
}
