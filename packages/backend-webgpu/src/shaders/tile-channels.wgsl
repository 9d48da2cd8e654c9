// Groups along channels of a tile, which is as wide as the head: entry (slot, group). Several columns of lanes have a group.

const TILE_GROUPS = TILE_CHANNELS / tensor_groupSize;
const GROUP_COLUMNS = tensor_groupSize / PATCH_CHANNELS;
// One more than a slot has columns: lanes that read one column of several slots meet different banks.
const COLUMN_STRIDE = PATCH_COLUMNS + 1u;

var<workgroup> tile_first: array<f32, TILE_SLOTS * COLUMN_STRIDE>;
var<workgroup> tile_second: array<f32, TILE_SLOTS * COLUMN_STRIDE>;

fn measurePatch(values: ptr<function, Patch>, row: u32, column: u32) {
  for (var s = 0u; s < PATCH_SLOTS; s += 1u) {
    var part = across((*values)[s * PATCH_QUADS]);
    for (var q = 1u; q < PATCH_QUADS; q += 1u) {
      part = joined(part, across((*values)[s * PATCH_QUADS + q]));
    }
    let at = (row * PATCH_SLOTS + s) * COLUMN_STRIDE + column;
    tile_first[at] = part.x;
    tile_second[at] = part.y;
  }
}

fn measuredParameters(entry: u32) -> Parameters {
  let at = entry / TILE_GROUPS * COLUMN_STRIDE + entry % TILE_GROUPS * GROUP_COLUMNS;
  var part = vec2<f32>(tile_first[at], tile_second[at]);
  for (var i = 1u; i < GROUP_COLUMNS; i += 1u) {
    part = joined(part, vec2<f32>(tile_first[at + i], tile_second[at + i]));
  }
  return parametersOf(part);
}

fn slotOfEntry(entry: u32) -> u32 {
  return entry / TILE_GROUPS;
}

// Number of an entry of the tile in its plane.
fn entryOfTile(firstSlot: u32, firstChannel: u32, entry: u32) -> u32 {
  return firstSlot * TILE_GROUPS + entry;
}

fn quadSteps(row: u32, column: u32, q: u32) -> Steps {
  return Steps();
}

// Of a slot of the lane, the same for its channels.
fn slotSteps(steps: Steps, row: u32, column: u32, s: u32) -> Steps {
  let step = tile_steps[(row * PATCH_SLOTS + s) * TILE_GROUPS + column / GROUP_COLUMNS];
  return Steps(step.xxxx, step.yyyy, step.zzzz, step.wwww);
}
