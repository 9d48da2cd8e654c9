// The packing kernel in its general form: exact f32 arithmetic on every layout. One workgroup: the segments of one split
// of one sequence, one kv head, up to ROWS of its query rows.

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

var<workgroup> query_tile: array<f32, ROWS * QUERY_WORDS>;
var<workgroup> weights: array<f32, ROWS * TILE>;
var<workgroup> row_maximum: array<f32, ROWS>;
var<workgroup> row_rescale: array<f32, ROWS>;
var<workgroup> row_sum: array<f32, ROWS>;
var<workgroup> row_packed: array<f32, ROWS>;

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

// Whether the query at `position` sees the token at `token`.
fn visible(token: u32, position: u32) -> bool {
  if (token > position) {
    return false;
  }
  return WINDOW_SIZE == 0u || token < WINDOW_SINKS || token + WINDOW_SIZE > position;
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
  let head = group.y;
  let firstRow = group.z * ROWS;
  if (firstRow >= rows) {
    return;
  }
  let count = min(ROWS, rows - firstRow);

  for (var i = lane; i < ROWS * QUERY_WORDS; i += ATTENTION_SIZE) {
    let row = firstRow + i / QUERY_WORDS;
    var value = 0.0;
    if (row < rows) {
      let query = (firstQuery + row / GROUP_HEADS) * QUERY_HEADS + head * GROUP_HEADS + row % GROUP_HEADS;
      value = queries[query * QUERY_WORDS + i % QUERY_WORDS];
    }
    query_tile[i] = value;
  }
  if (lane < ROWS) {
    row_maximum[lane] = NOTHING;
    row_sum[lane] = 0.0;
    row_packed[lane] = 0.0;
  }
  workgroupBarrier();

  var plain: array<f32, ROWS * CHANNELS>;
  var packed: array<f32, ROWS * CHANNELS>;
  for (var s = 0u; s < segments; s += 1u) {
    let segment = segmentAt(firstSegment + s);
    for (var start = 0u; start < segment.count; start += TILE) {
      let tokens = min(TILE, segment.count - start);
      keyTile(segment, start, tokens, head, firstRow, count, firstPosition, lane);
      workgroupBarrier();
      if (lane < count) {
        foldMaximum(lane, tokens);
      }
      workgroupBarrier();
      if (lane < tokens) {
        for (var row = 0u; row < count; row += 1u) {
          let logit = weights[row * TILE + lane];
          weights[row * TILE + lane] = select(exp(logit - row_maximum[row]), 0.0, logit <= NOTHING);
        }
      }
      workgroupBarrier();
      if (lane < count) {
        foldSum(lane, tokens, segment.value_source == SOURCE_PACKED);
      }
      for (var i = 0u; i < ROWS * CHANNELS; i += 1u) {
        plain[i] *= row_rescale[i / CHANNELS];
        packed[i] *= row_rescale[i / CHANNELS];
      }
      for (var c = 0u; c < CHANNELS; c += 1u) {
        let channel = c * ATTENTION_SIZE + lane;
        if (channel >= value_headDim) {
          break;
        }
        for (var t = 0u; t < tokens; t += 1u) {
          let value = value_element(
            segment.value_source, segment.value_page, head, segment.value_slot + start + t, channel,
          );
          for (var row = 0u; row < ROWS; row += 1u) {
            // A weight of zero hides its value, whatever it is.
            let weight = weights[row * TILE + t];
            let term = select(weight * value, 0.0, weight == 0.0 || row >= count);
            if (VALUE_TRANSFORMED && segment.value_source == SOURCE_PACKED) {
              packed[row * CHANNELS + c] += term;
            } else {
              plain[row * CHANNELS + c] += term;
            }
          }
        }
      }
      workgroupBarrier();
    }
  }

  for (var row = 0u; row < count; row += 1u) {
    let partial = (firstPartial + head * rows + firstRow + row) * PARTIAL_WORDS;
    if (lane == 0u) {
      partials[partial] = row_maximum[row];
      partials[partial + 1u] = row_sum[row];
      partials[partial + 2u] = row_packed[row];
    }
    for (var c = 0u; c < CHANNELS; c += 1u) {
      let channel = c * ATTENTION_SIZE + lane;
      if (channel < value_headDim) {
        partials[partial + 3u + channel] = plain[row * CHANNELS + c];
        if (VALUE_TRANSFORMED) {
          partials[partial + 3u + value_headDim + channel] = packed[row * CHANNELS + c];
        }
      }
    }
  }
}

// Logits of one tile: a lane owns a token.
fn keyTile(
  segment: Segment, start: u32, tokens: u32, head: u32, firstRow: u32, count: u32, firstPosition: u32, lane: u32,
) {
  if (lane >= tokens) {
    return;
  }
  let transformed = KEY_TRANSFORMED && segment.key_source == SOURCE_PACKED;
  let offset = select(0u, key_headDim, transformed);
  var dots: array<f32, ROWS>;
  for (var channel = 0u; channel < key_headDim; channel += 1u) {
    let key = key_element(segment.key_source, segment.key_page, head, segment.key_slot + start + lane, channel);
    for (var row = 0u; row < ROWS; row += 1u) {
      dots[row] += query_tile[row * QUERY_WORDS + offset + channel] * key;
    }
  }
  let token = segment.position + start + lane;
  for (var row = 0u; row < count; row += 1u) {
    var dot = dots[row];
    if (transformed) {
      dot += query_tile[row * QUERY_WORDS + 2u * key_headDim];
    }
    var logit = dot * LOGIT_SCALE;
    if (SOFT_CAP > 0.0) {
      logit = SOFT_CAP * tanh(logit / SOFT_CAP);
    }
    let position = firstPosition + (firstRow + row) / GROUP_HEADS;
    weights[row * TILE + lane] = select(NOTHING, logit, visible(token, position));
  }
}

fn foldMaximum(row: u32, tokens: u32) {
  let old = row_maximum[row];
  var maximum = old;
  for (var t = 0u; t < tokens; t += 1u) {
    maximum = max(maximum, weights[row * TILE + t]);
  }
  row_maximum[row] = maximum;
  row_rescale[row] = select(exp(old - maximum), 1.0, old == maximum);
}

fn foldSum(row: u32, tokens: u32, isPacked: bool) {
  var sum = 0.0;
  for (var t = 0u; t < tokens; t += 1u) {
    sum += weights[row * TILE + t];
  }
  row_sum[row] = row_sum[row] * row_rescale[row] + sum;
  row_packed[row] = row_packed[row] * row_rescale[row] + select(0.0, sum, isPacked);
}
