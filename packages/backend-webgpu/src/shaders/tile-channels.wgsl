// Groups along channels of a tile, which is as wide as the head: entry (slot, group). Several columns of lanes have a group.

const TILE_GROUPS = TILE_CHANNELS / tensor_groupSize;
const PARTS = tensor_groupSize / PATCH_CHANNELS;
// One more than a slot has columns: lanes that read one column of several slots meet different banks.
const COLUMN_STRIDE = PATCH_COLUMNS + 1u;

const PARTS_OF_ONE = TILE_SLOTS * COLUMN_STRIDE;
const PART_WORDS = PARTS_OF_ONE * select(1u, 2u, PAIRED);

fn putPart(row: u32, column: u32, s: u32, part: vec2<f32>) {
  let at = (row * PATCH_SLOTS + s) * COLUMN_STRIDE + column;
  tile_shared[at] = bitcast<u32>(part.x);
  if (PAIRED) {
    tile_shared[PARTS_OF_ONE + at] = bitcast<u32>(part.y);
  }
}

fn partAt(entry: u32, part: u32) -> vec2<f32> {
  let at = entry / TILE_GROUPS * COLUMN_STRIDE + entry % TILE_GROUPS * PARTS + part;
  return vec2<f32>(bitcast<f32>(tile_shared[at]), bitcast<f32>(tile_shared[select(0u, PARTS_OF_ONE + at, PAIRED)]));
}

fn measurePatch(values: ptr<function, Patch>, row: u32, column: u32) {
  for (var s = 0u; s < PATCH_SLOTS; s += 1u) {
    var part = across((*values)[s * PATCH_QUADS]);
    for (var q = 1u; q < PATCH_QUADS; q += 1u) {
      part = joined(part, across((*values)[s * PATCH_QUADS + q]));
    }
    putPart(row, column, s, part);
  }
}

fn slotOfEntry(entry: u32) -> u32 {
  return entry / TILE_GROUPS;
}

// Number of an entry of the tile in its plane.
fn entryOfTile(firstSlot: u32, firstChannel: u32, entry: u32) -> u32 {
  return firstSlot * TILE_GROUPS + entry;
}

fn quadSteps(row: u32, column: u32, q: u32, firstEntry: u32) -> Steps {
  return Steps();
}

// Of a slot of the lane, the same for its channels.
fn slotSteps(steps: Steps, row: u32, column: u32, s: u32, firstEntry: u32) -> Steps {
  let step = tile_steps[firstEntry + (row * PATCH_SLOTS + s) * TILE_GROUPS + column / PARTS];
  return Steps(step.xxxx, step.yyyy, step.zzzz, step.wwww);
}
