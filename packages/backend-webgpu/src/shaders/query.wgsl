// Turns queries into what attention reads: f32 as they are, then what meets packed keys, then what is added to each dot
// product with one. One workgroup: one query of one query head.

const ROW_SIZE = 64u;

@group(0) @binding(2) var<storage, read> key_memory: array<u32>;
@group(0) @binding(3) var<storage, read> source: array<u32>;
@group(0) @binding(4) var<storage, read_write> queries: array<f32>;

var<workgroup> terms: array<f32, ROW_SIZE>;
var<workgroup> added: f32;

// The element type of the source: 0 f32, 1 f16, 2 bf16.
fn sourceValue(index: u32) -> f32 {
  if (job.entries == 0u) {
    return bitcast<f32>(source[index]);
  }
  let bits = halfAt(source[index / 2u], index);
  return select(f16Value(bits), bitcast<f32>(bits << 16u), job.entries == 2u);
}

// A row of the table: sequence, query of the sequence.
@compute @workgroup_size(ROW_SIZE)
fn prepareQuery(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) lane: u32) {
  let at = job.table + (group.x + group.z * 32768u) * 2u;
  let sequence = commands[at];
  let given = (commands[sequence] + commands[at + 1u]) * QUERY_HEADS + group.y;
  let query = (commands[sequence + 7u] + commands[at + 1u]) * QUERY_HEADS + group.y;
  let statisticsPage = commands[sequence + 3u];
  let head = group.y / GROUP_HEADS;
  for (var channel = lane; channel < key_headDim; channel += ROW_SIZE) {
    let value = sourceValue(job.first + given * key_headDim + channel);
    queries[query * QUERY_WORDS + channel] = value;
    row_values[channel] = value;
  }
  // Nothing is packed before statistics exist.
  if (KEY_TRANSFORMED && (statisticsPage != NO_STATISTICS || !KEY_MEASURED)) {
    if (lane == 0u) {
      added = 0.0;
    }
    workgroupBarrier();
    transformQuery(head, statisticsPage, lane);
    for (var channel = lane; channel < key_headDim; channel += ROW_SIZE) {
      queries[query * QUERY_WORDS + key_headDim + channel] = row_values[channel];
    }
    if (lane == 0u) {
      queries[query * QUERY_WORDS + 2u * key_headDim] = added;
    }
  }
}
