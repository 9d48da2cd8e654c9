// Statistics that a transform takes from the sequence itself, docs/law.md 7: f16 numbers per head and channel, from rows of
// the scratch to which the transforms before it have been applied. One workgroup: one head of one sequence.

const STATISTICS_SIZE = 64u;

@group(0) @binding(2) var<storage, read> scratch: array<u32>;
@group(0) @binding(3) var<storage, read_write> memory: array<u32>;

var<workgroup> statistic_bits: array<u32, tensor_headDim>;
var<workgroup> shared_bits: u32;

const ONE = 0x3c00u;
// No number that all channels of the head take.
const NONE = 0xffffffffu;

// An entry of the table: first half of the plane of this transform, tokens, the f32 number nearest to 1 / tokens.
@compute @workgroup_size(STATISTICS_SIZE)
fn measure(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) lane: u32) {
  let at = job.table + group.x * 3u;
  let head = group.y;
  let tokens = commands[at + 1u];
  let share = bitcast<f32>(commands[at + 2u]);
  for (var channel = lane; channel < tensor_headDim; channel += STATISTICS_SIZE) {
    statistic_bits[channel] = statisticBits(head, channel, tokens, share);
  }
  workgroupBarrier();
  if (lane == 0u) {
    shared_bits = sharedBits();
  }
  workgroupBarrier();
  let plane = (commands[at] + head * tensor_headDim) / 2u;
  for (var pair = lane; pair < tensor_headDim / 2u; pair += STATISTICS_SIZE) {
    let bits = statistic_bits[2u * pair] | (statistic_bits[2u * pair + 1u] << 16u);
    memory[plane + pair] = select(shared_bits * 0x10001u, bits, shared_bits == NONE);
  }
}

fn rowValue(row: u32, head: u32, channel: u32) -> f32 {
  return bitcast<f32>(scratch[(row * tensor_heads + head) * tensor_headDim + channel]);
}
