// The packing kernel on keys and values that both stay f16. One workgroup: the segments of one split of one sequence, one kv
// head, four query rows.
//
// A row of a token is read in chunks of 8 channels, a chunk to a lane: neighbours read what lies side by side. Keys meet the
// chunk of the query that their lane keeps, and parts of dot products are added up over the lanes of a token; values are added
// up in the lane that reads them. Once the keys of a tile have been met, its values and the keys of the next are on their way.
// Nothing that stays in registers is indexed by what a compiler may not know. docs/kernels-webgpu.md.

const LANES = 32u;
const CHUNK = 8u;
// Tokens that one load of all lanes reads, and loads of a tile.
const LOAD_TOKENS = LANES / TOKEN_LANES;
const LOADS = 8u;
const TILE = LOADS * LOAD_TOKENS;
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

// What the loads of a tile bring to a lane: eight channels each.
struct Words {
  a: vec4<u32>,
  b: vec4<u32>,
  c: vec4<u32>,
  d: vec4<u32>,
  e: vec4<u32>,
  f: vec4<u32>,
  g: vec4<u32>,
  h: vec4<u32>,
}

// Eight vectors of four rows: by channel of a chunk, or by load.
struct Rows {
  a: vec4<f32>,
  b: vec4<f32>,
  c: vec4<f32>,
  d: vec4<f32>,
  e: vec4<f32>,
  f: vec4<f32>,
  g: vec4<f32>,
  h: vec4<f32>,
}

// Eight channels of one row.
struct Chunk {
  low: vec4<f32>,
  high: vec4<f32>,
}

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
  // Where all rows of a workgroup are of one query they share its position, and registers.
  let position = select(work.position, vec4<u32>(work.position.x), GROUP_HEADS % ROWS == 0u);
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
  var keys = keysAt(walk.segment, walk.start, head, lane);
  while (more) {
    let segment = walk.segment;
    let start = walk.start;
    let count = min(TILE, segment.count - start);
    let first = segment.position + start;
    let dots = Rows(
      dotsOf(keys.a, query),
      dotsOf(keys.b, query),
      dotsOf(keys.c, query),
      dotsOf(keys.d, query),
      dotsOf(keys.e, query),
      dotsOf(keys.f, query),
      dotsOf(keys.g, query),
      dotsOf(keys.h, query),
    );
    walk.start += TILE;
    more = seek(&walk, work, end);
    // After the last tile its keys are loaded again, for nothing.
    keys = keysAt(walk.segment, walk.start, head, lane);

    let values = valuesAt(segment, start, head, lane);

    let token = tokenOf(lane);
    var logits = capped(sumsOfTokens(dots, lane));
    let seen = visible(first + token, position) & vec4<bool>(token < count);
    logits = select(vec4<f32>(NOTHING), logits, seen);
    let raised = raisedMaximum(maximum, logits, lane);
    if (any(raised > maximum)) {
      let rescale = exp2(maximum - raised);
      maximum = raised;
      sum *= rescale;
      added = scaled(added, rescale);
    }
    let weight = select(exp2(logits - maximum), vec4<f32>(0.0), logits <= vec4<f32>(NOTHING));
    sum += weight;
    if (isHolder(lane)) {
      weights[buffer + token] = weight;
    }
    workgroupBarrier();
    let own = buffer + lane / TOKEN_LANES;
    if (count == TILE && seenByAll(first, position)) {
      added = addValues(added, values.a, weights[own]);
      added = addValues(added, values.b, weights[own + LOAD_TOKENS]);
      added = addValues(added, values.c, weights[own + 2u * LOAD_TOKENS]);
      added = addValues(added, values.d, weights[own + 3u * LOAD_TOKENS]);
      added = addValues(added, values.e, weights[own + 4u * LOAD_TOKENS]);
      added = addValues(added, values.f, weights[own + 5u * LOAD_TOKENS]);
      added = addValues(added, values.g, weights[own + 6u * LOAD_TOKENS]);
      added = addValues(added, values.h, weights[own + 7u * LOAD_TOKENS]);
    } else {
      // Values of a tile that not every row sees whole.
      for (var i = 0u; i < LOADS + job.zero; i += 1u) {
        let words = valueOf(segment, start + min(i * LOAD_TOKENS + lane / TOKEN_LANES, count - 1u), head, lane);
        added = addSeen(added, words, weights[own + i * LOAD_TOKENS]);
      }
    }
    buffer = TILE - buffer;
  }

  let total = sumOfLanes(sum, lane) * (f32(TILE) / f32(LANES));
  added = Rows(
    sumOfChunks(added.a, lane), sumOfChunks(added.b, lane), sumOfChunks(added.c, lane), sumOfChunks(added.d, lane),
    sumOfChunks(added.e, lane), sumOfChunks(added.f, lane), sumOfChunks(added.g, lane), sumOfChunks(added.h, lane),
  );
  let natural = select(maximum * LN_2, vec4<f32>(NOTHING), maximum <= vec4<f32>(NOTHING));
  // Read again, so that nothing of it occupies registers meanwhile; `zero` keeps compilers from merging the reads.
  let results = workOf(group + job.zero);
  let at = results.partial;
  if (results.known.x) { writePartial(at.x, natural.x, total.x, lane, added.a.x, added.b.x, added.c.x, added.d.x, added.e.x, added.f.x, added.g.x, added.h.x); }
  if (results.known.y) { writePartial(at.y, natural.y, total.y, lane, added.a.y, added.b.y, added.c.y, added.d.y, added.e.y, added.f.y, added.g.y, added.h.y); }
  if (results.known.z) { writePartial(at.z, natural.z, total.z, lane, added.a.z, added.b.z, added.c.z, added.d.z, added.e.z, added.f.z, added.g.z, added.h.z); }
  if (results.known.w) { writePartial(at.w, natural.w, total.w, lane, added.a.w, added.b.w, added.c.w, added.d.w, added.e.w, added.f.w, added.g.w, added.h.w); }
}

fn writePartial(at: u32, maximum: f32, sum: f32, lane: u32, a: f32, b: f32, c: f32, d: f32, e: f32, f: f32, g: f32, h: f32) {
  if (lane == 0u) {
    partials[at] = maximum;
    partials[at + 1u] = sum;
    partials[at + 2u] = 0.0;
  }
  if (lane < value_headDim / CHUNK) {
    let first = at + 4u + lane * CHUNK;
    partials[first] = a;
    partials[first + 1u] = b;
    partials[first + 2u] = c;
    partials[first + 3u] = d;
    partials[first + 4u] = e;
    partials[first + 5u] = f;
    partials[first + 6u] = g;
    partials[first + 7u] = h;
  }
}

// The chunk of the lane, scaled; zeros in a lane that has none.
fn queryOf(at: vec4<u32>, lane: u32) -> Rows {
  let channel = lane % TOKEN_LANES * CHUNK;
  if (channel >= key_headDim) {
    return Rows();
  }
  return Rows(
    queryAt(at + channel), queryAt(at + channel + 1u), queryAt(at + channel + 2u), queryAt(at + channel + 3u),
    queryAt(at + channel + 4u), queryAt(at + channel + 5u), queryAt(at + channel + 6u), queryAt(at + channel + 7u),
  );
}

fn queryAt(at: vec4<u32>) -> vec4<f32> {
  let scale = select(LOGIT_SCALE, LOGIT_SCALE * LOG2_E, SOFT_CAP == 0.0);
  return scale * vec4<f32>(queries[at.x], queries[at.y], queries[at.z], queries[at.w]);
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

fn keysAt(segment: Segment, start: u32, head: u32, lane: u32) -> Words {
  return key_load(segment.key_source, segment.key_page, segment.key_slot + start, segment.count - 1u - start, head, lane);
}

fn valuesAt(segment: Segment, start: u32, head: u32, lane: u32) -> Words {
  return value_load(segment.value_source, segment.value_page, segment.value_slot + start, segment.count - 1u - start, head, lane);
}

fn valueOf(segment: Segment, token: u32, head: u32, lane: u32) -> vec4<u32> {
  return value_row(segment.value_source, segment.value_page, segment.value_slot + token, head, lane);
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
  var dots = query.a * key.low.x;
  dots += query.b * key.low.y;
  dots += query.c * key.low.z;
  dots += query.d * key.low.w;
  dots += query.e * key.high.x;
  dots += query.f * key.high.y;
  dots += query.g * key.high.z;
  dots += query.h * key.high.w;
  return dots;
}

// A logit to base 2.
fn capped(dot: vec4<f32>) -> vec4<f32> {
  if (SOFT_CAP > 0.0) {
    return SOFT_CAP * LOG2_E * tanh(dot / SOFT_CAP);
  }
  return dot;
}

fn scaled(rows: Rows, by: vec4<f32>) -> Rows {
  return Rows(
    rows.a * by, rows.b * by, rows.c * by, rows.d * by, rows.e * by, rows.f * by, rows.g * by, rows.h * by,
  );
}

fn addValues(added: Rows, words: vec4<u32>, weight: vec4<f32>) -> Rows {
  let value = chunkOf(words);
  return Rows(
    added.a + weight * value.low.x,
    added.b + weight * value.low.y,
    added.c + weight * value.low.z,
    added.d + weight * value.low.w,
    added.e + weight * value.high.x,
    added.f + weight * value.high.y,
    added.g + weight * value.high.z,
    added.h + weight * value.high.w,
  );
}

fn addSeen(added: Rows, words: vec4<u32>, weight: vec4<f32>) -> Rows {
  let value = chunkOf(words);
  return Rows(
    added.a + shown(weight, value.low.x),
    added.b + shown(weight, value.low.y),
    added.c + shown(weight, value.low.z),
    added.d + shown(weight, value.low.w),
    added.e + shown(weight, value.high.x),
    added.f + shown(weight, value.high.y),
    added.g + shown(weight, value.high.z),
    added.h + shown(weight, value.high.w),
  );
}

// A weight of zero hides its value, whatever it is.
fn shown(weight: vec4<f32>, value: f32) -> vec4<f32> {
  return select(weight * value, vec4<f32>(0.0), weight == vec4<f32>(0.0));
}
