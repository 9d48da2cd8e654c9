// Code words of a patch that hold neighbour channels of one slot: RUN_WORDS each.

fn putCodes(values: ptr<function, Patch>, pack: Pack, page: u32, firstSlot: u32, firstChannel: u32, row: u32, column: u32, isWhole: bool) {
  var words = array<u32, PATCH_SLOTS * RUN_WORDS>();
  for (var q = 0u; q < PATCH_QUADS; q += 1u) {
    let steps = quadSteps(row, column, q, 0u);
    for (var s = 0u; s < PATCH_SLOTS; s += 1u) {
      let codes = fourCodes((*values)[s * PATCH_QUADS + q], slotSteps(steps, row, column, s, 0u));
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
  let word = firstChannel * tensor_bits / 32u;
  for (var s = 0u; s < PATCH_SLOTS; s += 1u) {
    let slot = row * PATCH_SLOTS + s;
    for (var w = 0u; w < RUN_WORDS; w += 1u) {
      if (isWhole) {
        tile_shared[placeInTile(column * RUN_WORDS + w, slot)] = words[s * RUN_WORDS + w];
      } else if (isPacked(pack, firstSlot + slot)) {
        putWord(page + codeWord(word + column * RUN_WORDS + w, firstSlot + slot), words[s * RUN_WORDS + w]);
      }
    }
  }
}

// Words of a tile: along channels, and one for every slot.
const TILE_WORDS = TILE_CHANNELS * tensor_bits / 32u;
const TILE_NEIGHBOURS = TILE_WORDS;
const TILE_RUNS = TILE_SLOTS;

fn placeInTile(word: u32, slot: u32) -> u32 {
  return slot * WORD_STRIDE + word;
}

fn wordOfTile(firstSlot: u32, firstChannel: u32, run: u32, neighbour: u32) -> u32 {
  let word = neighbour;
  let slot = run;
  return codeWord(firstChannel * tensor_bits / 32u + word, firstSlot + slot);
}
