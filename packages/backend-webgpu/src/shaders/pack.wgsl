// The residual kernel: rows of the scratch become parameters and codes of packed pages. Every invocation owns one 32-bit
// word of a page and keeps the bits in it that belong to other slots.

const PACK_SIZE = 64u;
const PACK_WORDS = 4u;

@group(0) @binding(2) var<storage, read> scratch: array<f32>;
@group(0) @binding(3) var<storage, read_write> memory: array<u32>;

struct Pack {
  // First word of the page.
  page: u32,
  slot: u32,
  count: u32,
  // Row of the scratch.
  row: u32,
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

@compute @workgroup_size(PACK_SIZE)
fn packParameters(@builtin(global_invocation_id) id: vec3<u32>) {
  let pack = packOf(id.z);
  let firstEntry = entriesOf(pack.slot);
  let endEntry = entriesOf(pack.slot + pack.count);
  let word = firstEntry / 2u + id.x;
  if (word * 2u >= endEntry) {
    return;
  }
  let base = pack.page + id.y * tensor_headWords + word;
  var scales = memory[base + tensor_scaleWord];
  var zeros = 0u;
  if (tensor_hasZero) {
    zeros = memory[base + tensor_zeroWord];
  }
  for (var half = 0u; half < 2u; half += 1u) {
    let entry = word * 2u + half;
    if (entry < firstEntry || entry >= endEntry) {
      continue;
    }
    let parameters = parametersOf(groupOf(pack, entry, id.y));
    let shift = 16u * half;
    scales = (scales & ~(0xffffu << shift)) | (parameters.scale << shift);
    zeros = (zeros & ~(0xffffu << shift)) | (parameters.zero << shift);
  }
  memory[base + tensor_scaleWord] = scales;
  if (tensor_hasZero) {
    memory[base + tensor_zeroWord] = zeros;
  }
}

fn parametersAt(base: u32, entry: u32) -> Parameters {
  let shift = 16u * (entry & 1u);
  var zero = 0u;
  if (tensor_hasZero) {
    zero = (memory[base + tensor_zeroWord + entry / 2u] >> shift) & 0xffffu;
  }
  return Parameters((memory[base + tensor_scaleWord + entry / 2u] >> shift) & 0xffffu, zero);
}
