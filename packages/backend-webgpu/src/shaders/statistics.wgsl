// Statistics that a transform takes from the sequence itself, docs/law.md 7: f16 numbers per head and channel, from rows of
// the scratch to which the transforms before it have been applied. One workgroup: one head of one sequence.

const STATISTICS_SIZE = 64u;

@group(0) @binding(2) var<storage, read> scratch: array<f32>;
@group(0) @binding(3) var<storage, read_write> memory: array<u32>;

var<workgroup> statistic_bits: array<u32, tensor_headDim>;
var<workgroup> all_ones: bool;

// An entry of the table: first half of the plane of this transform, tokens, first row.
@compute @workgroup_size(STATISTICS_SIZE)
fn measure(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) lane: u32) {
  let at = job.table + group.x * 3u;
  let head = group.y;
  let tokens = commands[at + 1u];
  let firstRow = commands[at + 2u];
  for (var channel = lane; channel < tensor_headDim; channel += STATISTICS_SIZE) {
    statistic_bits[channel] = statisticBits(head, channel, firstRow, tokens);
  }
  workgroupBarrier();
  if (lane == 0u) {
    all_ones = belowSpread();
  }
  workgroupBarrier();
  let plane = (commands[at] + head * tensor_headDim) / 2u;
  for (var pair = lane; pair < tensor_headDim / 2u; pair += STATISTICS_SIZE) {
    let bits = statistic_bits[2u * pair] | (statistic_bits[2u * pair + 1u] << 16u);
    memory[plane + pair] = select(bits, 0x3c003c00u, all_ones);
  }
}

fn rowValue(row: u32, head: u32, channel: u32) -> f32 {
  return scratch[(row * tensor_heads + head) * tensor_headDim + channel];
}
