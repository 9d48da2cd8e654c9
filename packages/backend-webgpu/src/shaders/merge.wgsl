// Combines the splits of a sequence, undoes the transforms of packed values, writes output and log-sum-exp. One workgroup:
// one query of one query head. A partial result is maximum, sum of weights, that of packed tokens, nothing, then sums of
// values in f16, and where values are transformed those of packed ones.

const ROW_SIZE = MERGE_SIZE;
// Splits whose factors are held at once.
const HELD = 256u;
const NOTHING = -3.0e38;
// Vectors of a partial result that are summed, and lanes for each.
const PLAIN_COLUMNS = (value_headDim + 3u) / 4u;
const COLUMNS = select(PLAIN_COLUMNS, 2u * PLAIN_COLUMNS, VALUE_TRANSFORMED);
const TEAMS = max(1u, ROW_SIZE / COLUMNS);

@group(0) @binding(2) var<storage, read> value_memory: array<u32>;
@group(0) @binding(3) var<storage, read> partials: array<vec4<f32>>;
@group(0) @binding(4) var<storage, read_write> outputs: array<f32>;
@group(0) @binding(5) var<storage, read_write> log_sum_exp: array<u32>;

var<workgroup> lane_values: array<vec2<f32>, ROW_SIZE>;
var<workgroup> factors: array<f32, HELD>;
var<workgroup> columns: array<vec4<f32>, TEAMS * COLUMNS>;

// A row of the table: sequence, query of the sequence. A sequence: first query, queries, length, key statistics,
// value statistics, first row of partial results, splits, first query as attention reads it.
@compute @workgroup_size(ROW_SIZE)
fn merge(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) lane: u32) {
  let at = job.table + (group.x + group.z * 32768u) * 2u;
  let sequence = commands[at];
  let query = commands[at + 1u];
  let head = group.y / GROUP_HEADS;
  let row = query * GROUP_HEADS + group.y % GROUP_HEADS;
  let rows = commands[sequence + 1u] * GROUP_HEADS;
  let statisticsPage = commands[sequence + 4u];
  let splits = commands[sequence + 6u];
  // Vectors; partials of the splits lie one block of rows apart.
  let stride = rows * KV_HEADS * (PARTIAL_WORDS / 4u);
  let first = (commands[sequence + 5u] + head * rows + row) * (PARTIAL_WORDS / 4u);

  var maximum = NOTHING;
  for (var i = lane; i < splits; i += ROW_SIZE) {
    maximum = max(maximum, partials[first + i * stride].x);
  }
  lane_values[lane].x = maximum;
  for (var half = ROW_SIZE / 2u; half > 0u; half /= 2u) {
    workgroupBarrier();
    if (lane < half) {
      lane_values[lane].x = max(lane_values[lane].x, lane_values[lane + half].x);
    }
  }
  workgroupBarrier();
  maximum = lane_values[0].x;

  var sums = vec2<f32>(0.0);
  for (var held = 0u; held < splits; held += HELD) {
    let count = min(HELD, splits - held);
    workgroupBarrier();
    for (var i = lane; i < count; i += ROW_SIZE) {
      let header = partials[first + (held + i) * stride];
      let factor = select(exp(header.x - maximum), 0.0, header.x <= NOTHING);
      sums += header.yz * factor;
      factors[i] = factor;
    }
    workgroupBarrier();
    for (var c = lane; c < TEAMS * COLUMNS; c += ROW_SIZE) {
      let added = weighted(first + held * stride + 1u + c % COLUMNS, stride, c / COLUMNS, count);
      columns[c] = select(columns[c], vec4<f32>(0.0), held == 0u) + added;
    }
  }
  workgroupBarrier();
  lane_values[lane] = sums;
  for (var half = ROW_SIZE / 2u; half > 0u; half /= 2u) {
    workgroupBarrier();
    if (lane < half) {
      lane_values[lane] += lane_values[lane + half];
    }
  }
  for (var c = lane; c < COLUMNS; c += ROW_SIZE) {
    var sum = columns[c];
    for (var team = 1u; team < TEAMS; team += 1u) {
      sum += columns[team * COLUMNS + c];
    }
    columns[c] = sum;
  }
  workgroupBarrier();
  sums = lane_values[0];

  let result = (commands[sequence] + query) * QUERY_HEADS + group.y;
  let seen = maximum > NOTHING;
  if (lane == 0u) {
    // Minus infinity where nothing is visible.
    log_sum_exp[result] = select(0xff800000u, bitcast<u32>(maximum + log(sums.x)), seen);
  }
  if (VALUE_TRANSFORMED) {
    for (var channel = lane; channel < value_headDim; channel += ROW_SIZE) {
      row_values[channel] = columns[PLAIN_COLUMNS + channel / 4u][channel % 4u];
    }
    workgroupBarrier();
    // Nothing is packed before statistics exist.
    if (statisticsPage != NO_STATISTICS || !VALUE_MEASURED) {
      invertRow(head, statisticsPage, sums.y, lane);
    }
  }
  for (var channel = lane; channel < value_headDim; channel += ROW_SIZE) {
    var value = columns[channel / 4u][channel % 4u];
    if (VALUE_TRANSFORMED) {
      value += row_values[channel];
    }
    outputs[result * value_headDim + channel] = select(0.0, value / sums.x, seen);
  }
}

// One vector of every so manieth split of those whose factors are held; eight loads are on their way at once. A split that
// saw nothing may have left anything.
fn weighted(at: u32, stride: u32, team: u32, count: u32) -> vec4<f32> {
  var value = vec4<f32>(0.0);
  for (var i = team; i < count; i += 8u * TEAMS) {
    let last = count - 1u;
    let a = partials[at + i * stride];
    let b = partials[at + min(i + TEAMS, last) * stride];
    let c = partials[at + min(i + 2u * TEAMS, last) * stride];
    let d = partials[at + min(i + 3u * TEAMS, last) * stride];
    let e = partials[at + min(i + 4u * TEAMS, last) * stride];
    let f = partials[at + min(i + 5u * TEAMS, last) * stride];
    let g = partials[at + min(i + 6u * TEAMS, last) * stride];
    let h = partials[at + min(i + 7u * TEAMS, last) * stride];
    value += shown(a, i, count) + shown(b, i + TEAMS, count) + shown(c, i + 2u * TEAMS, count) + shown(d, i + 3u * TEAMS, count);
    value += shown(e, i + 4u * TEAMS, count) + shown(f, i + 5u * TEAMS, count) + shown(g, i + 6u * TEAMS, count) +
      shown(h, i + 7u * TEAMS, count);
  }
  return value;
}

fn shown(value: vec4<f32>, split: u32, count: u32) -> vec4<f32> {
  let factor = select(0.0, factors[min(split, HELD - 1u)], split < count);
  return select(value * factor, vec4<f32>(0.0), factor == 0.0);
}
