// Copies whole pages within a memory.

const COPY_SIZE = 64u;

@group(0) @binding(2) var<storage, read_write> memory: array<u32>;

// A copy: first word of the source, first word of the target, words.
@compute @workgroup_size(COPY_SIZE)
fn copyPages(@builtin(global_invocation_id) id: vec3<u32>) {
  let at = job.table + id.y * 3u;
  if (id.x < commands[at + 2u]) {
    memory[commands[at + 1u] + id.x] = memory[commands[at] + id.x];
  }
}
