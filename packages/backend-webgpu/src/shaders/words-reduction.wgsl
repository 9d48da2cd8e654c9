// Code words of a tile in the order of the reduction, code-places-reduction.wgsl: where a word goes.

// The reduction of a tile in words, and its other axis.
const TILE_REDUCED = select(TILE_CHANNELS, TILE_SLOTS, tensor_reducesTokens) / 4u;
const TILE_OTHERS = select(TILE_SLOTS, TILE_CHANNELS, tensor_reducesTokens);
// Vectors of words of the other axis lie side by side.
const TILE_NEIGHBOURS = TILE_OTHERS;
const TILE_RUNS = TILE_REDUCED * tensor_bits / 8u;

// Words that are spread come after those that they are spread over, from the same lane.
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
