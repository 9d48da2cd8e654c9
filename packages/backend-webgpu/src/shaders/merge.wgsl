// Combines the splits of a sequence, undoes the transforms of packed values, writes output and log-sum-exp. One workgroup:
// one query of one query head.

const MERGE_SIZE = 64u;
const NOTHING = -3.0e38;

@group(0) @binding(2) var<storage, read> memory: array<u32>;
@group(0) @binding(3) var<storage, read> partials: array<f32>;
@group(0) @binding(4) var<storage, read_write> outputs: array<f32>;
@group(0) @binding(5) var<storage, read_write> log_sum_exp: array<u32>;

var<workgroup> row_values: array<f32, value_headDim>;

// A row of the table: sequence, query of the sequence. A sequence: first query, queries, length, key statistics,
// value statistics, first item, items.
@compute @workgroup_size(MERGE_SIZE)
fn merge(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) lane: u32) {
  let at = job.table + (group.x + group.z * 32768u) * 2u;
  let sequence = commands[at];
  let query = commands[at + 1u];
  let head = group.y / GROUP_HEADS;
  let row = query * GROUP_HEADS + group.y % GROUP_HEADS;
  let rows = commands[sequence + 1u] * GROUP_HEADS;
  let statisticsPage = commands[sequence + 4u];
  let firstItem = commands[sequence + 5u];
  let items = commands[sequence + 6u];

  var maximum = NOTHING;
  for (var i = 0u; i < items; i += 1u) {
    let partial = partialOf(firstItem + i, head, rows, row);
    maximum = max(maximum, partials[partial]);
  }
  var sum = 0.0;
  var packedSum = 0.0;
  for (var i = 0u; i < items; i += 1u) {
    let partial = partialOf(firstItem + i, head, rows, row);
    let factor = select(exp(partials[partial] - maximum), 0.0, partials[partial] <= NOTHING);
    sum += partials[partial + 1u] * factor;
    packedSum += partials[partial + 2u] * factor;
  }
  let result = (commands[sequence] + query) * QUERY_HEADS + group.y;
  let seen = maximum > NOTHING;
  if (lane == 0u) {
    // Minus infinity where nothing is visible.
    log_sum_exp[result] = select(0xff800000u, bitcast<u32>(maximum + log(sum)), seen);
  }
  if (VALUE_TRANSFORMED) {
    for (var channel = lane; channel < value_headDim; channel += MERGE_SIZE) {
      row_values[channel] = combined(firstItem, items, head, rows, row, maximum, value_headDim + channel);
    }
    workgroupBarrier();
    invertRow(head, statisticsPage, packedSum, lane);
  }
  for (var channel = lane; channel < value_headDim; channel += MERGE_SIZE) {
    var value = combined(firstItem, items, head, rows, row, maximum, channel);
    if (VALUE_TRANSFORMED) {
      value += row_values[channel];
    }
    outputs[result * value_headDim + channel] = select(0.0, value / sum, seen);
  }
}

fn partialOf(item: u32, head: u32, rows: u32, row: u32) -> u32 {
  return (commands[job.first + item * 4u + 3u] + head * rows + row) * PARTIAL_WORDS;
}

fn combined(
  firstItem: u32, items: u32, head: u32, rows: u32, row: u32, maximum: f32, channel: u32,
) -> f32 {
  var value = 0.0;
  for (var i = 0u; i < items; i += 1u) {
    let partial = partialOf(firstItem + i, head, rows, row);
    if (partials[partial] > NOTHING) {
      value += partials[partial + 3u + channel] * exp(partials[partial] - maximum);
    }
  }
  return value;
}
