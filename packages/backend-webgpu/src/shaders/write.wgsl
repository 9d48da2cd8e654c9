// Copies runs of rows of the input into slots of window pages, WRITE_HALVES channels at a time. One workgroup: one run of one
// head.

const WRITE_SIZE = 128u;

@group(0) @binding(2) var<storage, read> inputs: array<Piece>;
@group(0) @binding(3) var<storage, read_write> memory: array<Piece>;

// A row of the table: first half of the window page, slot, first half of the first input row, rows.
@compute @workgroup_size(WRITE_SIZE)
fn write(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) lane: u32) {
  let at = job.table + (group.x + group.z * 32768u) * 4u;
  let head = group.y;
  let pieces = tensor_headDim / WRITE_HALVES;
  let source = commands[at + 2u] / WRITE_HALVES + head * pieces;
  let destination = commands[at] / WRITE_HALVES + (head * WINDOW_TOKENS + commands[at + 1u]) * pieces;
  for (var i = lane; i < commands[at + 3u] * pieces; i += WRITE_SIZE) {
    memory[destination + i] = inputs[source + i / pieces * tensor_heads * pieces + i % pieces];
  }
}
