// Copies rows of the input into slots of window pages, two channels at a time.

const WRITE_SIZE = 64u;

@group(0) @binding(2) var<storage, read> inputs: array<u32>;
@group(0) @binding(3) var<storage, read_write> memory: array<u32>;

// A row of the table: first half of the window page, slot, first half of the input row.
@compute @workgroup_size(WRITE_SIZE)
fn write(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) lane: u32) {
  let at = job.table + (group.x + group.z * 32768u) * 3u;
  let head = group.y;
  let source = (commands[at + 2u] + head * tensor_headDim) / 2u;
  let destination = (commands[at] + (head * WINDOW_TOKENS + commands[at + 1u]) * tensor_headDim) / 2u;
  for (var pair = lane; pair < tensor_headDim / 2u; pair += WRITE_SIZE) {
    memory[destination + pair] = inputs[source + pair];
  }
}
