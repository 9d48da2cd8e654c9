// The residual kernel in one pass: a workgroup takes a tile of one head, slots by channels, out of window pages and the
// input, measures its groups, and writes their parameters and whole words of codes. A lane keeps a patch of the tile in
// registers: PATCH_SLOTS slots of PATCH_QUADS times four neighbour channels.

const TILE_LANES = PATCH_ROWS * PATCH_COLUMNS;
const TILE_SLOTS = PATCH_ROWS * PATCH_SLOTS;
const PATCH_CHANNELS = 4u * PATCH_QUADS;
const TILE_CHANNELS = PATCH_COLUMNS * PATCH_CHANNELS;
const TILES_ACROSS = tensor_headDim / TILE_CHANNELS;
const TILE_ENTRIES = TILE_SLOTS * TILE_CHANNELS / tensor_groupSize;
const PACK_WORDS = 8u;
const SPAN_WORDS = 4u;
const NO_ROW = 0xffffffffu;
// Words of a tile: so many neighbours in memory, and one more, so that lanes meet different banks.
const WORD_STRIDE = TILE_NEIGHBOURS + 1u;
const WINDOW_ROW = 0x80000000u;

@group(0) @binding(2) var<storage, read> inputs: array<vec2<u32>>;
@group(0) @binding(3) var<storage, read_write> memory: array<vec2<u32>>;

// First quad of the tile in every slot: of the input, or of the pages when it is marked.
var<workgroup> tile_rows: array<u32, TILE_SLOTS>;
// What was measured as f32 bits, then words of codes.
var<workgroup> tile_shared: array<u32, max(PART_WORDS, TILE_RUNS * WORD_STRIDE)>;
var<workgroup> tile_parameters: array<Parameters, TILE_ENTRIES>;
var<workgroup> tile_steps: array<vec4<f32>, TILE_ENTRIES * STEP_SETS>;

struct Pack {
  // First word of the page.
  page: u32,
  slot: u32,
  count: u32,
  // First of the spans it is made of, from the table on, and how many they are.
  span: u32,
  spans: u32,
  // First half of the statistics page.
  statistics: u32,
  // Of one span of the input: first half of its first row. NO_ROW otherwise.
  input: u32,
}

fn packOf(number: u32) -> Pack {
  let at = job.table + number * PACK_WORDS;
  return Pack(commands[at], commands[at + 1u], commands[at + 2u], commands[at + 3u], commands[at + 4u], commands[at + 5u],
    commands[at + 6u]);
}

fn wordAt(index: u32) -> u32 {
  return memory[index / 2u][index % 2u];
}

fn putWord(index: u32, word: u32) {
  memory[index / 2u][index % 2u] = word;
}

// Bits of a word that are not in the mask stay as they are.
fn putBits(index: u32, word: u32, mask: u32) {
  if (mask == 0xffffffffu) {
    putWord(index, word);
  } else if (mask != 0u) {
    putWord(index, (wordAt(index) & ~mask) | (word & mask));
  }
}

fn isPacked(pack: Pack, slot: u32) -> bool {
  return slot - pack.slot < pack.count;
}

// First quad of a slot of a head. A span: rows of the pack before it, source (1 window, 2 input), first half of the page or of
// the input, slot.
fn rowOf(pack: Pack, slot: u32, head: u32) -> u32 {
  if (!isPacked(pack, slot)) {
    return NO_ROW;
  }
  let row = slot - pack.slot;
  var span = job.table + pack.span;
  for (var i = 1u; i < pack.spans; i += 1u) {
    if (commands[span + SPAN_WORDS] > row) {
      break;
    }
    span += SPAN_WORDS;
  }
  let first = commands[span + 2u];
  let token = row - commands[span] + commands[span + 3u];
  if (commands[span + 1u] == SOURCE_WINDOW) {
    return ((first + (head * WINDOW_TOKENS + token) * tensor_headDim) / 4u) | WINDOW_ROW;
  }
  return (first + (token * tensor_heads + head) * tensor_headDim) / 4u;
}

fn quadAt(row: u32, quad: u32) -> vec2<u32> {
  if (row == NO_ROW) {
    return vec2<u32>();
  }
  if ((row & WINDOW_ROW) != 0u) {
    return memory[(row & ~WINDOW_ROW) + quad];
  }
  return inputs[row + quad];
}

@compute @workgroup_size(TILE_LANES)
fn packTile(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) lane: u32) {
  let pack = packOf(group.z);
  let head = group.y;
  let firstSlot = (pack.slot / TILE_SLOTS + group.x / TILES_ACROSS) * TILE_SLOTS;
  let firstChannel = group.x % TILES_ACROSS * TILE_CHANNELS;
  if (firstSlot >= pack.slot + pack.count) {
    return;
  }
  let row = lane / PATCH_COLUMNS;
  let column = lane % PATCH_COLUMNS;
  let firstQuad = firstChannel / 4u + column * PATCH_QUADS;
  prepareTile(lane);
  // Whole tiles of one span of the input, which prompts are made of, find their rows without looking them up.
  let isWhole = isPacked(pack, firstSlot) && isPacked(pack, firstSlot + TILE_SLOTS - 1u);
  var quads: Halves;
  if (isWhole && pack.input != NO_ROW) {
    let stride = tensor_heads * tensor_headDim / 4u;
    let first = (pack.input + head * tensor_headDim) / 4u + (firstSlot - pack.slot + row * PATCH_SLOTS) * stride + firstQuad;
    for (var s = 0u; s < PATCH_SLOTS; s += 1u) {
      for (var q = 0u; q < PATCH_QUADS; q += 1u) {
        quads[s * PATCH_QUADS + q] = inputs[first + s * stride + q];
      }
    }
  } else {
    for (var i = lane; i < TILE_SLOTS; i += TILE_LANES) {
      tile_rows[i] = rowOf(pack, firstSlot + i, head);
    }
    workgroupBarrier();
    for (var s = 0u; s < PATCH_SLOTS; s += 1u) {
      let at = tile_rows[row * PATCH_SLOTS + s];
      for (var q = 0u; q < PATCH_QUADS; q += 1u) {
        quads[s * PATCH_QUADS + q] = quadAt(at, firstQuad + q);
      }
    }
  }
  var values: Patch;
  readPatch(&quads, &values);
  transformPatch(&values, head, pack.statistics, 4u * firstQuad);
  measurePatch(&values, row, column);
  workgroupBarrier();
  for (var entry = lane; entry < TILE_ENTRIES; entry += TILE_LANES) {
    var part = partAt(entry, 0u);
    for (var i = 1u; i < PARTS; i += 1u) {
      part = joined(part, partAt(entry, i));
    }
    setGroup(entry, part);
  }
  workgroupBarrier();
  chooseGroups(&values, lane, row, column);
  let page = pack.page + head * tensor_headWords;
  for (var pair = lane; pair < TILE_ENTRIES / 2u; pair += TILE_LANES) {
    putParameters(pack, page, firstSlot, firstChannel, 2u * pair);
  }
  putCodes(&values, pack, page, firstSlot, firstChannel, row, column, isWhole);
  if (isWhole) {
    workgroupBarrier();
    for (var i = lane; i < TILE_RUNS * TILE_NEIGHBOURS; i += TILE_LANES) {
      let run = i / TILE_NEIGHBOURS;
      let neighbour = i % TILE_NEIGHBOURS;
      putWord(page + wordOfTile(firstSlot, firstChannel, run, neighbour), tile_shared[run * WORD_STRIDE + neighbour]);
    }
  }
}

// Two neighbour entries of the tile are a word of each plane.
fn putParameters(pack: Pack, page: u32, firstSlot: u32, firstChannel: u32, entry: u32) {
  let low = tile_parameters[entry];
  let high = tile_parameters[entry + 1u];
  let mask = select(0u, 0xffffu, isPacked(pack, firstSlot + slotOfEntry(entry))) |
    select(0u, 0xffff0000u, isPacked(pack, firstSlot + slotOfEntry(entry + 1u)));
  let word = entryOfTile(firstSlot, firstChannel, entry) / 2u;
  putBits(page + tensor_scaleWord + word, low.scale | (high.scale << 16u), mask);
  if (tensor_hasZero) {
    putBits(page + tensor_zeroWord + word, low.zero | (high.zero << 16u), mask);
  }
}
