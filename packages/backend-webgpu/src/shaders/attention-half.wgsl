// The packing kernel on keys and values that both stay f16. One workgroup: the segments of one split of one sequence, one kv
// head, four query rows.
//
// A row of a token is read in chunks of 8 channels, a chunk to a lane: neighbours read what lies side by side. Keys meet the
// chunk of the query that their lane keeps, and parts of dot products are added up over the lanes of a token; values are added
// up in the lane that reads them. Loads run ahead: values of a tile while its keys are met, keys of the next tile after that.
// docs/kernels-webgpu.md.

const LANES = 32u;
const CHUNK = 8u;
const LOG2_E = 1.44269504088896340736f;
const LN_2 = 0.69314718055994530942f;
// How far a logit, to base 2, may lie above the one that weights are relative to.
const SLACK = 8.0;

@group(0) @binding(2) var<storage, read> key_memory: array<vec4<u32>>;
@group(0) @binding(3) var<storage, read> value_memory: array<vec4<u32>>;
@group(0) @binding(4) var<storage, read> inputs: array<vec4<u32>>;
@group(0) @binding(5) var<storage, read> queries: array<f32>;
@group(0) @binding(6) var<storage, read_write> partials: array<f32>;

// By token of the tile; two tiles take turns, so that one barrier a tile is enough. Query rows are the components of vectors.
var<workgroup> weights: array<vec4<f32>, 2u * TILE>;

// Eight channels of one row.
struct Chunk {
  low: vec4<f32>,
  high: vec4<f32>,
}

// Eight channels of four rows.
alias Rows = array<vec4<f32>, CHUNK>;

// Where a walk over the segments of a split stands, and the segment it meets next, which is on its way already.
struct Walk {
  number: u32,
  start: u32,
  segment: Segment,
  next: Segment,
}

@compute @workgroup_size(LANES)
fn attend(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) lane: u32) {
  let work = workOf(group);
  if (work.firstRow >= work.rows) {
    return;
  }
  let head = work.head;
  let position = work.position;
  let query = queryOf(work.query, lane);
  // Tokens from here on are seen by no row.
  let end = work.firstPosition + (min(work.firstRow + ROWS, work.rows) - 1u) / GROUP_HEADS + 1u;

  var maximum = vec4<f32>(NOTHING);
  // Of this lane's tokens alone; added up at the end.
  var sum = vec4<f32>(0.0);
  var added = Rows();
  var walk = Walk(0u, 0u, segmentAt(work.firstSegment), segmentAt(work.firstSegment + min(1u, work.segments - 1u)));
  var more = seek(&walk, work, end);
  var buffer = 0u;
  var keys = key_load(walk.segment.key_source, walk.segment.key_page, walk.segment.key_slot, walk.segment.count, walk.start, head, lane);
  while (more) {
    let segment = walk.segment;
    let start = walk.start;
    let count = min(TILE, segment.count - start);
    let first = segment.position + start;
    let values = value_load(segment.value_source, segment.value_page, segment.value_slot, segment.count, start, head, lane);

    var dots: array<vec4<f32>, key_loads>;
    for (var i = 0u; i < key_loads; i += 1u) {
      dots[i] = dotsOf(keys[i], query);
    }
    walk.start += TILE;
    more = seek(&walk, work, end);
    // After the last tile its keys are loaded again, for nothing.
    keys = key_load(walk.segment.key_source, walk.segment.key_page, walk.segment.key_slot, walk.segment.count, walk.start, head, lane);

    let token = tokenOf(lane);
    var logits = capped(sumsOfTokens(dots, lane));
    let seen = visible(first + token, position) & vec4<bool>(token < count);
    logits = select(vec4<f32>(NOTHING), logits, seen);
    let raised = raisedMaximum(maximum, logits, lane);
    if (any(raised > maximum)) {
      let rescale = exp2(maximum - raised);
      maximum = raised;
      sum *= rescale;
      for (var c = 0u; c < CHUNK; c += 1u) {
        added[c] *= rescale;
      }
    }
    let weight = select(exp2(logits - maximum), vec4<f32>(0.0), logits <= vec4<f32>(NOTHING));
    sum += weight;
    if (isHolder(lane)) {
      weights[buffer + token] = weight;
    }
    workgroupBarrier();
    if (count == TILE && seenByAll(first, position)) {
      for (var i = 0u; i < value_loads; i += 1u) {
        addValues(&added, values[i], weights[buffer + i * value_rows + lane / value_lanes]);
      }
    } else {
      addSeen(&added, segment, start, count, buffer, head, lane);
    }
    buffer = TILE - buffer;
  }

  let total = sumOfLanes(sum, lane) * (f32(TILE) / f32(LANES));
  for (var c = 0u; c < CHUNK; c += 1u) {
    added[c] = sumOfChunks(added[c], lane);
  }
  let natural = select(maximum * LN_2, vec4<f32>(NOTHING), maximum <= vec4<f32>(NOTHING));
  for (var i = 0u; i < ROWS; i += 1u) {
    if (!work.known[i]) {
      break;
    }
    let at = work.partial[i];
    if (lane == 0u) {
      partials[at] = natural[i];
      partials[at + 1u] = total[i];
      partials[at + 2u] = 0.0;
    }
    if (lane < value_chunks) {
      for (var c = 0u; c < CHUNK; c += 1u) {
        partials[at + 3u + lane * CHUNK + c] = added[c][i];
      }
    }
  }
}

// The chunk of the lane, scaled; zeros in a lane that has none.
fn queryOf(at: vec4<u32>, lane: u32) -> Rows {
  let chunk = lane % key_lanes;
  let scale = select(LOGIT_SCALE, LOGIT_SCALE * LOG2_E, SOFT_CAP == 0.0);
  var query = Rows();
  if (chunk < key_chunks) {
    for (var c = 0u; c < CHUNK; c += 1u) {
      let channel = chunk * CHUNK + c;
      query[c] = scale * vec4<f32>(
        queries[at.x + channel], queries[at.y + channel], queries[at.z + channel], queries[at.w + channel],
      );
    }
  }
  return query;
}

// Moves on to a tile that a row may see; false when there is none.
fn seek(walk: ptr<function, Walk>, work: Work, end: u32) -> bool {
  loop {
    if ((*walk).start >= (*walk).segment.count) {
      if ((*walk).number + 1u >= work.segments) {
        (*walk).start = 0u;
        return false;
      }
      (*walk).number += 1u;
      (*walk).start = 0u;
      (*walk).segment = (*walk).next;
      (*walk).next = segmentAt(work.firstSegment + min((*walk).number + 1u, work.segments - 1u));
    }
    let first = (*walk).segment.position + (*walk).start;
    if (first >= end) {
      return false;
    }
    if (WINDOW_SIZE == 0u || first < WINDOW_SINKS || first + TILE - 1u + WINDOW_SIZE > work.position.x) {
      return true;
    }
    (*walk).start += TILE;
  }
}

// Whether every row sees every token of a whole tile.
fn seenByAll(first: u32, position: vec4<u32>) -> bool {
  let causal = first + TILE <= position.x + 1u;
  return causal && (WINDOW_SIZE == 0u || first + WINDOW_SIZE > position.w);
}

fn chunkOf(words: vec4<u32>) -> Chunk {
  return Chunk(
    vec4<f32>(unpack2x16float(words.x), unpack2x16float(words.y)),
    vec4<f32>(unpack2x16float(words.z), unpack2x16float(words.w)),
  );
}

// The part of the dot products that lies in one chunk.
fn dotsOf(words: vec4<u32>, query: Rows) -> vec4<f32> {
  let key = chunkOf(words);
  var dots = query[0] * key.low.x;
  dots += query[1] * key.low.y;
  dots += query[2] * key.low.z;
  dots += query[3] * key.low.w;
  dots += query[4] * key.high.x;
  dots += query[5] * key.high.y;
  dots += query[6] * key.high.z;
  dots += query[7] * key.high.w;
  return dots;
}

// A logit to base 2.
fn capped(dot: vec4<f32>) -> vec4<f32> {
  if (SOFT_CAP > 0.0) {
    return SOFT_CAP * LOG2_E * tanh(dot / SOFT_CAP);
  }
  return dot;
}

fn addValues(added: ptr<function, Rows>, words: vec4<u32>, weight: vec4<f32>) {
  let value = chunkOf(words);
  (*added)[0] += weight * value.low.x;
  (*added)[1] += weight * value.low.y;
  (*added)[2] += weight * value.low.z;
  (*added)[3] += weight * value.low.w;
  (*added)[4] += weight * value.high.x;
  (*added)[5] += weight * value.high.y;
  (*added)[6] += weight * value.high.z;
  (*added)[7] += weight * value.high.w;
}

// Values of a tile that not every row sees whole. A weight of zero hides its value, whatever it is.
fn addSeen(added: ptr<function, Rows>, segment: Segment, start: u32, count: u32, buffer: u32, head: u32, lane: u32) {
  for (var i = 0u; i < value_loads + job.zero; i += 1u) {
    let token = i * value_rows + lane / value_lanes;
    let words = value_row(segment.value_source, segment.value_page, segment.value_slot + start + min(token, count - 1u), head, lane);
    let weight = weights[buffer + token];
    let value = chunkOf(words);
    for (var c = 0u; c < 4u; c += 1u) {
      (*added)[c] += select(weight * value.low[c], vec4<f32>(0.0), weight == vec4<f32>(0.0));
      (*added)[c + 4u] += select(weight * value.high[c], vec4<f32>(0.0), weight == vec4<f32>(0.0));
    }
  }
}
