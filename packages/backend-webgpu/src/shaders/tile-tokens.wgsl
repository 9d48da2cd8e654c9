// Groups along tokens of a tile: entry (group, channel). Every row of lanes has a part of a group.

const GROUP_ROWS = tensor_groupSize / PATCH_SLOTS;
const STEPS = PATCH_QUADS;

var<workgroup> tile_first: array<f32, PATCH_ROWS * TILE_CHANNELS>;
var<workgroup> tile_second: array<f32, PATCH_ROWS * TILE_CHANNELS>;

fn measurePatch(values: ptr<function, Patch>, row: u32, column: u32) {
  for (var q = 0u; q < PATCH_QUADS; q += 1u) {
    var seen = nothingSeen();
    for (var s = 0u; s < PATCH_SLOTS; s += 1u) {
      seen = see(seen, (*values)[s * PATCH_QUADS + q]);
    }
    let at = row * TILE_CHANNELS + column * PATCH_CHANNELS + 4u * q;
    for (var i = 0u; i < 4u; i += 1u) {
      tile_first[at + i] = seen.first[i];
      tile_second[at + i] = seen.second[i];
    }
  }
}

fn measuredParameters(entry: u32) -> Parameters {
  let at = entry / TILE_CHANNELS * GROUP_ROWS * TILE_CHANNELS + entry % TILE_CHANNELS;
  var part = vec2<f32>(tile_first[at], tile_second[at]);
  for (var i = 1u; i < GROUP_ROWS; i += 1u) {
    part = joined(part, vec2<f32>(tile_first[at + i * TILE_CHANNELS], tile_second[at + i * TILE_CHANNELS]));
  }
  return parametersOf(part);
}

fn slotOfEntry(entry: u32) -> u32 {
  return entry / TILE_CHANNELS * tensor_groupSize;
}

// Number of an entry of the tile in its plane.
fn entryOfTile(firstSlot: u32, firstChannel: u32, entry: u32) -> u32 {
  return (firstSlot / tensor_groupSize + entry / TILE_CHANNELS) * tensor_headDim + firstChannel + entry % TILE_CHANNELS;
}

// Of quad q of the lane, whatever the slot.
fn quadSteps(row: u32, column: u32, q: u32) -> Steps {
  let at = row / GROUP_ROWS * TILE_CHANNELS + column * PATCH_CHANNELS + 4u * q;
  let steps = transpose(mat4x4<f32>(tile_steps[at], tile_steps[at + 1u], tile_steps[at + 2u], tile_steps[at + 3u]));
  return Steps(steps[0], steps[1], steps[2], steps[3]);
}

fn slotSteps(steps: Steps, row: u32, column: u32, s: u32) -> Steps {
  return steps;
}
