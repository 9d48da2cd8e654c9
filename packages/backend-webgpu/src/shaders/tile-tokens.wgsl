// Groups along tokens of a tile: entry (group, channel). Every row of lanes has a part of a group.

const PARTS = tensor_groupSize / PATCH_SLOTS;

const PARTS_OF_ONE = PATCH_ROWS * TILE_CHANNELS;
const PART_WORDS = PARTS_OF_ONE * select(1u, 2u, PAIRED);

fn putParts(row: u32, column: u32, q: u32, first: vec4<f32>, second: vec4<f32>) {
  let at = row * TILE_CHANNELS + column * PATCH_CHANNELS + 4u * q;
  for (var i = 0u; i < 4u; i += 1u) {
    tile_shared[at + i] = bitcast<u32>(first[i]);
    if (PAIRED) {
      tile_shared[PARTS_OF_ONE + at + i] = bitcast<u32>(second[i]);
    }
  }
}

fn partAt(entry: u32, part: u32) -> vec2<f32> {
  let at = (entry / TILE_CHANNELS * PARTS + part) * TILE_CHANNELS + entry % TILE_CHANNELS;
  return vec2<f32>(bitcast<f32>(tile_shared[at]), bitcast<f32>(tile_shared[select(0u, PARTS_OF_ONE + at, PAIRED)]));
}

fn measurePatch(values: ptr<function, Patch>, row: u32, column: u32) {
  for (var q = 0u; q < PATCH_QUADS; q += 1u) {
    var seen = nothingSeen();
    for (var s = 0u; s < PATCH_SLOTS; s += 1u) {
      seen = see(seen, (*values)[s * PATCH_QUADS + q]);
    }
    putParts(row, column, q, seen.first, seen.second);
  }
}

fn slotOfEntry(entry: u32) -> u32 {
  return entry / TILE_CHANNELS * tensor_groupSize;
}

// Number of an entry of the tile in its plane.
fn entryOfTile(firstSlot: u32, firstChannel: u32, entry: u32) -> u32 {
  return (firstSlot / tensor_groupSize + entry / TILE_CHANNELS) * tensor_headDim + firstChannel + entry % TILE_CHANNELS;
}

// Of quad q of the lane, whatever the slot.
fn quadSteps(row: u32, column: u32, q: u32, firstEntry: u32) -> Steps {
  let at = firstEntry + row / PARTS * TILE_CHANNELS + column * PATCH_CHANNELS + 4u * q;
  let steps = transpose(mat4x4<f32>(tile_steps[at], tile_steps[at + 1u], tile_steps[at + 2u], tile_steps[at + 3u]));
  return Steps(steps[0], steps[1], steps[2], steps[3]);
}

fn slotSteps(steps: Steps, row: u32, column: u32, s: u32, firstEntry: u32) -> Steps {
  return steps;
}
