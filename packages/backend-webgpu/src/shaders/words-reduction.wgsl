// Code words of a patch in the order of the reduction, code-places-reduction.wgsl: four of the reduction by the fields of a byte.
// Words that are spread come after those that they are spread over, and are of the same patch.

// The reduction of a tile in words, and its other axis.
const TILE_REDUCED = select(TILE_CHANNELS, TILE_SLOTS, tensor_reducesTokens) / 4u;
const TILE_OTHERS = select(TILE_SLOTS, TILE_CHANNELS, tensor_reducesTokens);
// Vectors of words of the other axis lie side by side.
const TILE_NEIGHBOURS = TILE_OTHERS;
const TILE_RUNS = TILE_REDUCED * tensor_bits / 8u;

fn putCodes(values: ptr<function, Patch>, pack: Pack, page: u32, firstSlot: u32, firstChannel: u32, row: u32, column: u32, isWhole: bool) {
  for (var q = 0u; q < PATCH_QUADS; q += 1u) {
    let steps = quadSteps(row, column, q, 0u);
    // Of keys a word for every run of as many slots as a byte has fields; of values words for four slots.
    var words = array<u32, 4u>();
    var masks = array<u32, 4u>();
    for (var s = 0u; s < PATCH_SLOTS; s += 1u) {
      let slot = row * PATCH_SLOTS + s;
      let channel = column * PATCH_CHANNELS + 4u * q;
      let codes = fourCodes((*values)[s * PATCH_QUADS + q], slotSteps(steps, row, column, s, 0u));
      let isNew = isPacked(pack, firstSlot + slot);
      for (var i = 0u; i < 4u; i += 1u) {
        let number = select(i, s, tensor_reducesTokens);
        let other = select(s, i, tensor_reducesTokens);
        let shift = reductionShift(number, other);
        let at = select(0u, other / tensor_fields, tensor_reducesTokens);
        words[at] |= reductionCode(codes[i], other) << shift;
        masks[at] |= select(0u, tensor_codeMask << shift, isNew);
      }
      let isLast = select(s % tensor_fields == tensor_fields - 1u, s % 4u == 3u, tensor_reducesTokens);
      if (isLast) {
        for (var w = 0u; w < select(1u, 4u / tensor_fields, tensor_reducesTokens); w += 1u) {
          let number = select(channel, slot, tensor_reducesTokens);
          let other = select(slot, channel + w * tensor_fields, tensor_reducesTokens);
          if (isWhole) {
            putInTile(number, other, words[w]);
          } else {
            let offsets = select(vec2<u32>(firstChannel, firstSlot), vec2<u32>(firstSlot, firstChannel), tensor_reducesTokens);
            putReduced(page, offsets.x + number, offsets.y + other, words[w], masks[w]);
          }
        }
        words = array<u32, 4u>();
        masks = array<u32, 4u>();
      }
    }
  }
}

fn putInTile(number: u32, other: u32, word: u32) {
  if (isSpreadWord(number)) {
    for (var part = 0u; part < 3u; part += 1u) {
      tile_shared[placeInTile(number / 4u - 3u + part, other)] |= spreadBits(word, part);
    }
  } else {
    tile_shared[placeInTile(number / 4u, other)] = word;
  }
}

fn placeInTile(quad: u32, other: u32) -> u32 {
  return reductionRun(quad) * WORD_STRIDE + other / 4u * 4u + reductionPart(quad, other);
}

fn wordOfTile(firstSlot: u32, firstChannel: u32, run: u32, neighbour: u32) -> u32 {
  let first = select(vec2<u32>(firstChannel, firstSlot), vec2<u32>(firstSlot, firstChannel), tensor_reducesTokens);
  return (reductionRun(first.x / 4u) + run) * tensor_otherCount + first.y + neighbour;
}
