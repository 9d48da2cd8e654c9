// The packing kernel in its general form: exact f32 arithmetic on every layout. One workgroup: the segments of one split
// of one sequence, one kv head, up to four of its query rows.

const ATTENTION_SIZE = 64u;
const TILE = 64u;
const SEGMENT_WORDS = 8u;
const ITEM_WORDS = 4u;
const SEQUENCE_WORDS = 8u;
const CHANNELS = (value_headDim + ATTENTION_SIZE - 1u) / ATTENTION_SIZE;
// Below every logit.
const NOTHING = -3.0e38;

@group(0) @binding(2) var<storage, read> key_memory: array<u32>;
@group(0) @binding(3) var<storage, read> value_memory: array<u32>;
@group(0) @binding(4) var<storage, read> inputs: array<u32>;
@group(0) @binding(5) var<storage, read> queries: array<f32>;
@group(0) @binding(6) var<storage, read_write> partials: array<f32>;

// Query rows are the components of vectors. Queries by word, logits and then weights by token of the tile.
var<workgroup> query_tile: array<vec4<f32>, QUERY_WORDS>;
var<workgroup> weights: array<vec4<f32>, TILE>;
var<workgroup> row_maximum: vec4<f32>;
var<workgroup> row_rescale: vec4<f32>;
var<workgroup> row_sum: vec4<f32>;
var<workgroup> row_packed: vec4<f32>;

struct Segment {
  position: u32,
  count: u32,
  key_source: u32,
  key_page: u32,
  key_slot: u32,
  value_source: u32,
  value_page: u32,
  value_slot: u32,
}

fn segmentAt(number: u32) -> Segment {
  let at = job.first + number * SEGMENT_WORDS;
  return Segment(
    commands[at], commands[at + 1u], commands[at + 2u], commands[at + 3u],
    commands[at + 4u], commands[at + 5u], commands[at + 6u], commands[at + 7u],
  );
}

// Which queries at `position` see the token at `token`.
fn visible(token: u32, position: vec4<u32>) -> vec4<bool> {
  let causal = vec4<u32>(token) <= position;
  if (WINDOW_SIZE == 0u) {
    return causal;
  }
  let inWindow = vec4<u32>(token + WINDOW_SIZE) > position;
  return causal & (inWindow | vec4<bool>(token < WINDOW_SINKS));
}

@compute @workgroup_size(ATTENTION_SIZE)
fn attend(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) lane: u32) {
  let item = job.table + group.x * ITEM_WORDS;
  let sequence = commands[item];
  let firstSegment = commands[item + 1u];
  let segments = commands[item + 2u];
  let firstPartial = commands[item + 3u];
  let firstQuery = commands[sequence];
  let rows = commands[sequence + 1u] * GROUP_HEADS;
  let firstPosition = commands[sequence + 2u] - commands[sequence + 1u];
  let statisticsPage = commands[sequence + 3u];
  let head = group.y;
  let firstRow = group.z * ROWS;
  if (firstRow >= rows) {
    return;
  }
  let row = vec4<u32>(firstRow) + vec4<u32>(0u, 1u, 2u, 3u);
  let known = row < vec4<u32>(rows);
  let position = vec4<u32>(firstPosition) + row / GROUP_HEADS;
  // Rows past the last repeat it and see nothing.
  let held = min(row, vec4<u32>(rows - 1u));
  let query = ((vec4<u32>(firstQuery) + held / GROUP_HEADS) * QUERY_HEADS + head * GROUP_HEADS + held % GROUP_HEADS) * QUERY_WORDS;
  for (var i = lane; i < QUERY_WORDS; i += ATTENTION_SIZE) {
    query_tile[i] = vec4<f32>(queries[query.x + i], queries[query.y + i], queries[query.z + i], queries[query.w + i]);
  }
  if (lane == 0u) {
    row_maximum = vec4<f32>(NOTHING);
    row_sum = vec4<f32>(0.0);
    row_packed = vec4<f32>(0.0);
  }
  workgroupBarrier();

  var plain: array<vec4<f32>, CHANNELS>;
  var packed: array<vec4<f32>, CHANNELS>;
  for (var s = 0u; s < segments; s += 1u) {
    let segment = segmentAt(firstSegment + s);
    let isPacked = VALUE_TRANSFORMED && segment.value_source == SOURCE_PACKED;
    for (var start = 0u; start < segment.count; start += TILE) {
      let tokens = min(TILE, segment.count - start);
      tileLogits(segment, start, tokens, head, statisticsPage, lane);
      workgroupBarrier();
      if (lane < tokens) {
        let seen = known & visible(segment.position + start + lane, position);
        weights[lane] = select(vec4<f32>(NOTHING), weights[lane], seen);
      }
      workgroupBarrier();
      if (lane == 0u) {
        foldMaximum(tokens);
      }
      workgroupBarrier();
      if (lane < tokens) {
        let logits = weights[lane];
        weights[lane] = select(exp(logits - row_maximum), vec4<f32>(0.0), logits <= vec4<f32>(NOTHING));
      }
      workgroupBarrier();
      if (lane == 0u) {
        foldSum(tokens, isPacked);
      }
      let rescale = row_rescale;
      // Zeros are written out: not every driver clears a bare declaration again in each trip of a loop.
      var sums = array<vec4<f32>, CHANNELS>();
      addValues(segment, start, tokens, head, lane, &sums);
      for (var c = 0u; c < CHANNELS; c += 1u) {
        let sum = sums[c];
        if (VALUE_TRANSFORMED) {
          packed[c] = packed[c] * rescale + select(vec4<f32>(0.0), sum, isPacked);
          plain[c] = plain[c] * rescale + select(sum, vec4<f32>(0.0), isPacked);
        } else {
          plain[c] = plain[c] * rescale + sum;
        }
      }
      workgroupBarrier();
    }
  }

  let partial = (vec4<u32>(firstPartial + head * rows) + row) * PARTIAL_WORDS;
  for (var i = 0u; i < ROWS; i += 1u) {
    if (!known[i]) {
      break;
    }
    let at = partial[i];
    if (lane == 0u) {
      partials[at] = row_maximum[i];
      partials[at + 1u] = row_sum[i];
      partials[at + 2u] = row_packed[i];
    }
    for (var c = 0u; c < CHANNELS; c += 1u) {
      let channel = c * ATTENTION_SIZE + lane;
      if (channel < value_headDim) {
        partials[at + 3u + channel] = plain[c][i];
        if (VALUE_TRANSFORMED) {
          partials[at + 3u + value_headDim + channel] = packed[c][i];
        }
      }
    }
  }
}

// A weight of zero hides its value, whatever it is.
fn weighted(token: u32, value: f32) -> vec4<f32> {
  let weight = weights[token];
  return select(weight * value, vec4<f32>(0.0), weight == vec4<f32>(0.0));
}

fn logitsOf(dots: vec4<f32>) -> vec4<f32> {
  let logits = dots * LOGIT_SCALE;
  if (SOFT_CAP > 0.0) {
    return SOFT_CAP * tanh(logits / SOFT_CAP);
  }
  return logits;
}

fn foldMaximum(tokens: u32) {
  let old = row_maximum;
  var maximum = old;
  for (var t = 0u; t < tokens; t += 1u) {
    maximum = max(maximum, weights[t]);
  }
  row_maximum = maximum;
  row_rescale = select(exp(old - maximum), vec4<f32>(1.0), old == maximum);
}

fn foldSum(tokens: u32, isPacked: bool) {
  var sum = vec4<f32>(0.0);
  for (var t = 0u; t < tokens; t += 1u) {
    sum += weights[t];
  }
  row_sum = row_sum * row_rescale + sum;
  row_packed = row_packed * row_rescale + select(vec4<f32>(0.0), sum, isPacked);
}
