// The residual kernel: rows of the scratch become parameters and codes of packed pages. Every invocation owns one 32-bit
// word of a page and keeps the bits in it that belong to other slots.

const PACK_SIZE = 64u;
const PACK_WORDS = 4u;

@group(0) @binding(2) var<storage, read> scratch: array<u32>;
@group(0) @binding(3) var<storage, read_write> memory: array<u32>;

struct Pack {
  // First word of the page.
  page: u32,
  slot: u32,
  count: u32,
  // Row of the scratch.
  row: u32,
}

fn scratchValue(index: u32) -> f32 {
  return bitcast<f32>(scratch[index]);
}

fn packOf(number: u32) -> Pack {
  let at = job.table + number * PACK_WORDS;
  return Pack(commands[at], commands[at + 1u], commands[at + 2u], commands[at + 3u]);
}

fn elementIndex(pack: Pack, slot: u32, head: u32, channel: u32) -> u32 {
  return ((slot - pack.slot + pack.row) * tensor_heads + head) * tensor_headDim + channel;
}

// Group number `entry` of a head: [group, channel] along tokens, [slot, group] along channels.
fn groupOf(pack: Pack, entry: u32, head: u32) -> Group {
  if (tensor_alongTokens) {
    let slot = entry / tensor_headDim * GROUP_SIZE;
    return Group(elementIndex(pack, slot, head, entry % tensor_headDim), tensor_heads * tensor_headDim);
  }
  let slot = entry / tensor_groupsPerRow;
  return Group(elementIndex(pack, slot, head, entry % tensor_groupsPerRow * GROUP_SIZE), 1u);
}

fn entriesOf(slots: u32) -> u32 {
  return select(slots * tensor_groupsPerRow, slots / GROUP_SIZE * tensor_headDim, tensor_alongTokens);
}

// Entry `entry` of a plane of entries of `width` bits.
fn fieldAt(plane: u32, entry: u32, width: u32) -> u32 {
  let bit = entry * width;
  return extractBits(memory[plane + bit / 32u], bit % 32u, width);
}

fn putField(plane: u32, entry: u32, width: u32, bits: u32) {
  let bit = entry * width;
  let at = plane + bit / 32u;
  memory[at] = insertBits(memory[at], bits, bit % 32u, width);
}

// An invocation owns four entries: whole words of every type of parameter.
const RUN = 4u;

@compute @workgroup_size(PACK_SIZE)
fn packParameters(@builtin(global_invocation_id) id: vec3<u32>) {
  let pack = packOf(id.z);
  let firstEntry = entriesOf(pack.slot);
  let endEntry = entriesOf(pack.slot + pack.count);
  let run = (firstEntry / RUN + id.x) * RUN;
  let base = pack.page + id.y * tensor_headWords;
  for (var entry = max(run, firstEntry); entry < min(run + RUN, endEntry); entry += 1u) {
    let parameters = parametersOf(groupOf(pack, entry, id.y));
    putField(base + tensor_scaleWord, entry, tensor_scaleWidth, parameters.scale);
    if (tensor_hasZero) {
      putField(base + tensor_zeroWord, entry, tensor_zeroWidth, parameters.zero);
    }
  }
}

fn parametersAt(base: u32, entry: u32) -> Parameters {
  var parameters: Parameters;
  if (tensor_hasScale) {
    parameters.scale = fieldAt(base + tensor_scaleWord, entry, tensor_scaleWidth);
  }
  if (tensor_hasZero) {
    parameters.zero = fieldAt(base + tensor_zeroWord, entry, tensor_zeroWidth);
  }
  return parameters;
}

// What is no member of its group has code 0.
fn storedCode(value: f32, parameters: Parameters) -> u32 {
  return select(0u, codeOf(value, parameters) & tensor_codeMask, isMember(value));
}
