// Combines the splits of a sequence, undoes the transforms of packed values, writes output and log-sum-exp. One workgroup:
// one query of one query head.

const ROW_SIZE = MERGE_SIZE;
// Splits whose factors are held at once.
const HELD = 256u;
const NOTHING = -3.0e38;

@group(0) @binding(2) var<storage, read> value_memory: array<u32>;
@group(0) @binding(3) var<storage, read> partials: array<f32>;
@group(0) @binding(4) var<storage, read_write> outputs: array<f32>;
@group(0) @binding(5) var<storage, read_write> log_sum_exp: array<u32>;

var<workgroup> lane_values: array<f32, ROW_SIZE>;
var<workgroup> plain_values: array<f32, value_headDim>;
var<workgroup> factors: array<f32, HELD>;
var<workgroup> lane_packed: array<f32, ROW_SIZE>;

// A row of the table: sequence, query of the sequence. A sequence: first query, queries, length, key statistics,
// value statistics, first item, items.
@compute @workgroup_size(ROW_SIZE)
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

  // Partials of the splits lie one block of rows apart.
  let stride = rows * KV_HEADS * PARTIAL_WORDS;
  let first = (commands[job.first + firstItem * 4u + 3u] + head * rows + row) * PARTIAL_WORDS;
  // Lanes that hold a split.
  let holders = min(items, ROW_SIZE);
  var maximum = NOTHING;
  for (var i = lane; i < items; i += ROW_SIZE) {
    maximum = max(maximum, partials[first + i * stride]);
  }
  lane_values[lane] = maximum;
  workgroupBarrier();
  for (var i = 0u; i < holders; i += 1u) {
    maximum = max(maximum, lane_values[i]);
  }
  workgroupBarrier();
  var sum = 0.0;
  var packedSum = 0.0;
  for (var i = lane; i < items; i += ROW_SIZE) {
    let at = first + i * stride;
    let factor = select(exp(partials[at] - maximum), 0.0, partials[at] <= NOTHING);
    sum += partials[at + 1u] * factor;
    packedSum += partials[at + 2u] * factor;
  }
  lane_values[lane] = sum;
  lane_packed[lane] = packedSum;
  workgroupBarrier();
  sum = 0.0;
  packedSum = 0.0;
  for (var i = 0u; i < holders; i += 1u) {
    sum += lane_values[i];
    packedSum += lane_packed[i];
  }
  workgroupBarrier();
  let result = (commands[sequence] + query) * QUERY_HEADS + group.y;
  let seen = maximum > NOTHING;
  if (lane == 0u) {
    // Minus infinity where nothing is visible.
    log_sum_exp[result] = select(0xff800000u, bitcast<u32>(maximum + log(sum)), seen);
  }
  // Sums over splits, one channel to a lane; heads wider than the workgroup take rounds.
  for (var start = 0u; start < value_headDim; start += ROW_SIZE) {
    let channel = start + lane;
    var value = 0.0;
    var transformed = 0.0;
    for (var held = 0u; held < items; held += HELD) {
      let count = min(HELD, items - held);
      workgroupBarrier();
      for (var i = lane; i < count; i += ROW_SIZE) {
        let weight = partials[first + (held + i) * stride];
        factors[i] = select(exp(weight - maximum), 0.0, weight <= NOTHING);
      }
      workgroupBarrier();
      if (channel < value_headDim) {
        let at = first + 3u + channel + held * stride;
        value += weighted(at, stride, count);
        if (VALUE_TRANSFORMED) {
          transformed += weighted(at + value_headDim, stride, count);
        }
      }
    }
    if (channel < value_headDim) {
      row_values[channel] = transformed;
      plain_values[channel] = value;
    }
  }
  workgroupBarrier();
  // Nothing is packed before statistics exist.
  if (VALUE_TRANSFORMED && (statisticsPage != NO_STATISTICS || !VALUE_MEASURED)) {
    invertRow(head, statisticsPage, packedSum, lane);
  }
  for (var channel = lane; channel < value_headDim; channel += ROW_SIZE) {
    var value = plain_values[channel];
    if (VALUE_TRANSFORMED) {
      value += row_values[channel];
    }
    outputs[result * value_headDim + channel] = select(0.0, value / sum, seen);
  }
}

// One channel of some splits; eight loads are on their way at once. A split that saw nothing may have left anything.
fn weighted(at: u32, stride: u32, count: u32) -> f32 {
  var value = 0.0;
  var i = 0u;
  for (; i + 8u <= count; i += 8u) {
    let a = partials[at + i * stride];
    let b = partials[at + (i + 1u) * stride];
    let c = partials[at + (i + 2u) * stride];
    let d = partials[at + (i + 3u) * stride];
    let e = partials[at + (i + 4u) * stride];
    let f = partials[at + (i + 5u) * stride];
    let g = partials[at + (i + 6u) * stride];
    let h = partials[at + (i + 7u) * stride];
    value += shown(a, i) + shown(b, i + 1u) + shown(c, i + 2u) + shown(d, i + 3u);
    value += shown(e, i + 4u) + shown(f, i + 5u) + shown(g, i + 6u) + shown(h, i + 7u);
  }
  for (; i < count; i += 1u) {
    value += shown(partials[at + i * stride], i);
  }
  return value;
}

fn shown(value: f32, split: u32) -> f32 {
  return select(value * factors[split], 0.0, factors[split] == 0.0);
}
