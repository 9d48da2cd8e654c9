// Gathers f16 tokens from window pages and from the input of the step, transforms them, and leaves bits of f32 rows
// in the scratch, [row, head, channel]. One workgroup: one row of one head.

const ROW_SIZE = 64u;
const SPAN_WORDS = 6u;

@group(0) @binding(2) var<storage, read> tensor_memory: array<u32>;
@group(0) @binding(3) var<storage, read> inputs: array<u32>;
@group(0) @binding(4) var<storage, read_write> scratch: array<u32>;

// The last span that begins at or before the row. A span: first row, source (1 window, 2 input), first half of the page or
// of the input, slot, first half of the statistics page.
fn spanOf(row: u32) -> u32 {
  var low = 0u;
  var high = job.entries;
  while (high - low > 1u) {
    let middle = (low + high) / 2u;
    if (commands[job.table + middle * SPAN_WORDS] <= row) {
      low = middle;
    } else {
      high = middle;
    }
  }
  return job.table + low * SPAN_WORDS;
}

@compute @workgroup_size(ROW_SIZE)
fn gather(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) lane: u32) {
  let row = group.x + group.z * 32768u + job.first;
  let head = group.y;
  let span = spanOf(row);
  let token = row - commands[span] + commands[span + 3u];
  let page = commands[span + 2u];
  let statisticsPage = commands[span + 4u];
  for (var channel = lane; channel < tensor_headDim; channel += ROW_SIZE) {
    var bits = 0u;
    if (commands[span + 1u] == SOURCE_WINDOW) {
      let index = page + (head * WINDOW_TOKENS + token) * tensor_headDim + channel;
      bits = halfAt(tensor_memory[index / 2u], index);
    } else {
      let index = page + (token * tensor_heads + head) * tensor_headDim + channel;
      bits = halfAt(inputs[index / 2u], index);
    }
    row_values[channel] = f16Value(bits);
  }
  workgroupBarrier();
  transformRow(head, statisticsPage, lane);
  for (var channel = lane; channel < tensor_headDim; channel += ROW_SIZE) {
    scratch[((row - job.first) * tensor_heads + head) * tensor_headDim + channel] = bitcast<u32>(row_values[channel]);
  }
}
