// Code words of a patch that hold neighbour slots of one channel: RUN_WORDS each.

fn putCodes(values: ptr<function, Patch>, pack: Pack, page: u32, firstSlot: u32, firstChannel: u32, row: u32, column: u32, isWhole: bool) {
  let slot = firstSlot + row * PATCH_SLOTS;
  for (var q = 0u; q < PATCH_QUADS; q += 1u) {
    let steps = quadSteps(row, column, q, 0u);
    var words = array<vec4<u32>, RUN_WORDS>();
    for (var s = 0u; s < PATCH_SLOTS; s += 1u) {
      let codes = fourCodes((*values)[s * PATCH_QUADS + q], slotSteps(steps, row, column, s, 0u));
      let place = codePlace(s);
      words[place.x] |= codes << vec4<u32>(place.y);
      if (place.y + tensor_bits > 32u) {
        words[place.x + 1u] |= codes >> vec4<u32>(32u - place.y);
      }
    }
    let channel = column * PATCH_CHANNELS + 4u * q;
    let isPatchWhole = isPacked(pack, slot) && isPacked(pack, slot + PATCH_SLOTS - 1u);
    for (var w = 0u; w < RUN_WORDS; w += 1u) {
      for (var i = 0u; i < 4u; i += 1u) {
        if (isWhole) {
          tile_shared[placeInTile(row * RUN_WORDS + w, channel + i)] = words[w][i];
        } else {
          let at = page + codeWord(slot * tensor_bits / 32u + w, firstChannel + channel + i);
          putBits(at, words[w][i], select(packedBits(pack, slot, w), 0xffffffffu, isPatchWhole));
        }
      }
    }
  }
}

// Words of a tile: along slots, and one for every channel.
const TILE_WORDS = TILE_SLOTS * tensor_bits / 32u;
const TILE_NEIGHBOURS = TILE_WORDS;
const TILE_RUNS = TILE_CHANNELS;

fn placeInTile(word: u32, channel: u32) -> u32 {
  return channel * WORD_STRIDE + word;
}

fn wordOfTile(firstSlot: u32, firstChannel: u32, run: u32, neighbour: u32) -> u32 {
  let word = neighbour;
  let channel = run;
  return codeWord(firstSlot * tensor_bits / 32u + word, firstChannel + channel);
}

// Bits of word w of the patch whose slots are packed now. Codes that lie across two words are in patches that are whole.
fn packedBits(pack: Pack, slot: u32, w: u32) -> u32 {
  var mask = 0u;
  for (var s = 0u; s < PATCH_SLOTS; s += 1u) {
    let place = codePlace(s);
    if (place.x == w && isPacked(pack, slot + s)) {
      mask |= tensor_codeMask << place.y;
    }
  }
  return mask;
}
