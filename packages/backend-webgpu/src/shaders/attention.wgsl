// The packing kernel in its general form: exact f32 arithmetic on every layout. One workgroup: the segments of one split
// of one sequence, one kv head, up to four of its query rows.

const ATTENTION_SIZE = 64u;
const TILE = 64u;
const CHANNELS = (value_headDim + ATTENTION_SIZE - 1u) / ATTENTION_SIZE;

@group(0) @binding(2) var<storage, read> key_memory: array<u32>;
@group(0) @binding(3) var<storage, read> value_memory: array<u32>;
@group(0) @binding(4) var<storage, read> inputs: array<u32>;
@group(0) @binding(5) var<storage, read> queries: array<f32>;
@group(0) @binding(6) var<storage, read_write> partials: array<f32>;

// Query rows are the components of vectors. Queries by word; logits, and then weights, by token of the tile.
var<workgroup> query_tile: array<vec4<f32>, QUERY_WORDS>;
var<workgroup> tile_logits: array<vec4<f32>, TILE>;
var<workgroup> tile_weights: array<vec4<f32>, TILE>;

// Whether no query from `position` on sees any of these tokens, because all have left the window.
fn outsideWindow(first: u32, tokens: u32, position: u32) -> bool {
  return WINDOW_SIZE > 0u && first >= WINDOW_SINKS && first + tokens - 1u + WINDOW_SIZE <= position;
}

@compute @workgroup_size(ATTENTION_SIZE)
fn attend(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) lane: u32) {
  let work = workOf(group);
  if (work.firstRow >= work.rows) {
    return;
  }
  let head = work.head;
  let known = work.known;
  let position = work.position;
  let query = work.query;
  for (var i = lane; i < QUERY_WORDS; i += ATTENTION_SIZE) {
    query_tile[i] = vec4<f32>(queries[query.x + i], queries[query.y + i], queries[query.z + i], queries[query.w + i]);
  }
  workgroupBarrier();

  // Every lane keeps these for itself: a lane that did it for all would be waited for.
  var maximum = vec4<f32>(NOTHING);
  var sum = vec4<f32>(0.0);
  var packedSum = vec4<f32>(0.0);
  var plain: array<vec4<f32>, CHANNELS>;
  var packed: array<vec4<f32>, CHANNELS>;
  // Tokens from here on are seen by no row.
  let end = work.firstPosition + (min(work.firstRow + ROWS, work.rows) - 1u) / GROUP_HEADS + 1u;
  for (var s = 0u; s < work.segments; s += 1u) {
    let segment = segmentAt(work.firstSegment + s);
    let isPacked = VALUE_TRANSFORMED && segment.value_source == SOURCE_PACKED;
    let seen = min(segment.count, end - min(end, segment.position));
    for (var start = 0u; start < seen; start += TILE) {
      let tokens = min(TILE, seen - start);
      if (outsideWindow(segment.position + start, tokens, position.x)) {
        continue;
      }
      tileLogits(segment, start, tokens, head, work.statisticsPage, lane);
      var logits = vec4<f32>(NOTHING);
      if (lane < tokens) {
        let seesIt = known & visible(segment.position + start + lane, position);
        logits = select(logits, tile_logits[lane], seesIt);
      }
      tile_logits[lane] = logits;
      // Nobody still reads weights of the last tile, and everybody sees these logits.
      workgroupBarrier();
      let old = maximum;
      for (var t = 0u; t < tokens; t += 1u) {
        maximum = max(maximum, tile_logits[t]);
      }
      let rescale = select(exp(old - maximum), vec4<f32>(1.0), old == maximum);
      tile_weights[lane] = select(exp(logits - maximum), vec4<f32>(0.0), logits <= vec4<f32>(NOTHING));
      workgroupBarrier();
      // Zeros are written out: not every driver clears a bare declaration again in each trip of a loop.
      var sums = array<vec4<f32>, CHANNELS>();
      let total = addValues(segment, start, tokens, head, lane, &sums);
      for (var c = 0u; c < CHANNELS; c += 1u) {
        let weightedSum = sums[c];
        if (VALUE_TRANSFORMED) {
          packed[c] = packed[c] * rescale + select(vec4<f32>(0.0), weightedSum, isPacked);
          plain[c] = plain[c] * rescale + select(weightedSum, vec4<f32>(0.0), isPacked);
        } else {
          plain[c] = plain[c] * rescale + weightedSum;
        }
      }
      sum = sum * rescale + total;
      packedSum = packedSum * rescale + select(vec4<f32>(0.0), total, isPacked);
    }
  }

  let partial = work.partial;
  for (var i = 0u; i < ROWS; i += 1u) {
    if (!known[i]) {
      break;
    }
    let at = partial[i];
    if (lane == 0u) {
      partials[at] = maximum[i];
      partials[at + 1u] = sum[i];
      partials[at + 2u] = packedSum[i];
    }
    for (var c = 0u; c < CHANNELS; c += 1u) {
      let channel = c * ATTENTION_SIZE + lane;
      if (channel < value_headDim) {
        partials[at + 4u + channel] = plain[c][i];
        if (VALUE_TRANSFORMED) {
          partials[at + PARTIAL_PACKED + channel] = packed[c][i];
        }
      }
    }
  }
}

// A weight of zero hides its value, whatever it is.
fn weighted(weight: vec4<f32>, value: f32) -> vec4<f32> {
  return select(weight * value, vec4<f32>(0.0), weight == vec4<f32>(0.0));
}

fn logitsOf(dots: vec4<f32>) -> vec4<f32> {
  let logits = dots * LOGIT_SCALE;
  if (SOFT_CAP > 0.0) {
    return SOFT_CAP * tanh(logits / SOFT_CAP);
  }
  return logits;
}
