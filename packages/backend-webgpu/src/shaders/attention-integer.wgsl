// The packing kernel over pages of 128 tokens, head dim 128: codes stay in the words they are stored in and meet 8-bit parts
// of queries and of probabilities in dot4I8Packed and dot4U8Packed. One workgroup: the segments of one split of one
// sequence, one kv head, four query rows. All of them are pages (integer-pages.wgsl), or none is (integer-rest.wgsl).
//
// Keys: a lane owns four tokens of the page. Values: a lane owns four channels. Scales along the reduction are folded into
// the query (keys) or the probabilities (values), once per page and group ("outer"); scales across it multiply sums of
// dot products ("inner"). docs/kernels-webgpu.md.

const LANES = 32u;
const PAGE = 128u;
const DIM = 128u;
const LOG2_E = 1.44269504088896340736f;
const LN_2 = 0.69314718055994530942f;
// What queries are multiplied by: logits are to base 2, unless they are capped first.
const QUERY_SCALE = LOGIT_SCALE * select(LOG2_E, 1.0f, SOFT_CAP > 0.0);

@group(0) @binding(2) var<storage, read> key_memory: array<vec4<u32>>;
@group(0) @binding(3) var<storage, read> value_memory: array<vec4<u32>>;
@group(0) @binding(4) var<storage, read> inputs: array<u32>;
@group(0) @binding(5) var<storage, read> queries: array<vec4<f32>>;
@group(0) @binding(6) var<storage, read_write> partials: array<vec4<f32>>;

// Workgroup memory decides how many workgroups a processor holds: everything lives in this one array, in turn. Parts of the
// folded query by [part and set, lane], four channels of the lane in a word, four rows in a vector; parts of the folded
// probabilities, four tokens of the lane in a word; what integer-rest.wgsl keeps.
var<workgroup> parts: array<vec4<u32>, PART_VECTORS>;
// A set is a vector longer than it must be: lanes that read the same place of different sets meet different banks.
const SET = LANES + 1u;
// The largest logits so far, or not much less.
var<workgroup> row_maximum: vec4<f32>;
// Where the queries of the rows begin, in vectors.
var<workgroup> row_queries: vec4<u32>;

// For pages whose heads share parameters.
var<private> attended_head: u32;

struct Rows {
  a: vec4<f32>,
  b: vec4<f32>,
  c: vec4<f32>,
  d: vec4<f32>,
}

// Tokens of a tile in a packed page: where the page of the head begins, in vectors, the first slot, how many.
struct Slots {
  page: u32,
  first: u32,
  count: u32,
}

fn transposed(rows: Rows) -> Rows {
  return Rows(
    vec4<f32>(rows.a.x, rows.b.x, rows.c.x, rows.d.x),
    vec4<f32>(rows.a.y, rows.b.y, rows.c.y, rows.d.y),
    vec4<f32>(rows.a.z, rows.b.z, rows.c.z, rows.d.z),
    vec4<f32>(rows.a.w, rows.b.w, rows.c.w, rows.d.w),
  );
}

fn largestOf(v: vec4<f32>) -> f32 {
  let w = abs(v);
  return max(max(w.x, w.y), max(w.z, w.w));
}

// Number `which` of the four f16 pairs: four halves that begin on an 8-byte boundary.
fn fourHalves(words: vec4<u32>, upper: bool) -> vec4<f32> {
  let pair = select(words.xy, words.zw, upper);
  return vec4<f32>(unpack2x16float(pair.x), unpack2x16float(pair.y));
}

// A logit to base 2.
fn capped(dot: vec4<f32>) -> vec4<f32> {
  if (SOFT_CAP > 0.0) {
    return SOFT_CAP * LOG2_E * tanh(dot / SOFT_CAP);
  }
  return dot;
}

// What a workgroup has found so far.
struct Running {
  // Sums of weights of this lane's tokens alone; added up at the end.
  sum: vec4<f32>,
  packedSum: vec4<f32>,
  // Sums of values, four channels of the lane by row.
  plain: Rows,
  packed: Rows,
  // What all channels of a set share, by set: zeros and offsets of values, of this lane's tokens alone.
  constants: Rows,
}

@compute @workgroup_size(LANES)
fn attend(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) lane: u32) {
  let work = workOf(group);
  if (work.firstRow >= work.rows) {
    return;
  }
  attended_head = work.head;
  if (lane == 0u) {
    row_queries = work.query / 4u;
    row_maximum = vec4<f32>(NOTHING);
  }
  workgroupBarrier();
  prepareKeys(lane);
  var running = Running();
  if (isPage(segmentAt(work.firstSegment))) {
    attendPages(&running, work, lane);
  } else {
    attendRest(&running, work, lane);
  }
  finish(&running, group, lane);
}

// Whether both tensors hold the tokens of a segment in the same slots of packed pages: nothing moves between lanes.
fn isPage(segment: Segment) -> bool {
  return segment.key_source == SOURCE_PACKED && segment.value_source == SOURCE_PACKED &&
    segment.key_slot == segment.value_slot;
}

// The maximum of the rows once these logits are among theirs.
fn raise(running: ptr<function, Running>, logits: Rows, lane: u32) -> vec4<f32> {
  let maximum = row_maximum;
  let raised = raisedBy(max(max(logits.a, logits.b), max(logits.c, logits.d)), maximum, lane);
  if (any(raised > maximum)) {
    let rescale = exp2(maximum - raised);
    (*running).sum *= rescale;
    (*running).plain = rescaled((*running).plain, rescale);
    if (VALUE_TRANSFORMED) {
      (*running).packed = rescaled((*running).packed, rescale);
      (*running).packedSum *= rescale;
    }
    let constants = (*running).constants;
    (*running).constants =
      Rows(constants.a * rescale, constants.b * rescale, constants.c * rescale, constants.d * rescale);
  }
  return raised;
}

// Adds what the values of a packed page give, weighted by these shares.
fn addPacked(running: ptr<function, Running>, result: Rows, shares: Rows) {
  if (VALUE_TRANSFORMED) {
    (*running).packed = summed((*running).packed, result);
    (*running).packedSum += shares.a + shares.b + shares.c + shares.d;
  } else {
    (*running).plain = summed((*running).plain, result);
  }
}

fn finish(running: ptr<function, Running>, group: vec3<u32>, lane: u32) {
  let total = sumOfLanes((*running).sum, lane);
  let packedTotal = sumOfLanes((*running).packedSum, lane);
  let constant = constantsOf((*running).constants, lane);
  // Highest fields that are signed are read as they are meant: nothing is added to their channels.
  let asMeant = value_isTop & vec4<bool>(value_signed);
  let nothing = vec4<f32>(0.0);
  let everywhere = Rows(
    select(vec4<f32>(constant.x), nothing, asMeant), select(vec4<f32>(constant.y), nothing, asMeant),
    select(vec4<f32>(constant.z), nothing, asMeant), select(vec4<f32>(constant.w), nothing, asMeant),
  );
  if (VALUE_TRANSFORMED) {
    (*running).packed = summed((*running).packed, everywhere);
  } else {
    (*running).plain = summed((*running).plain, everywhere);
  }
  let maximum = row_maximum;
  let natural = select(maximum * LN_2, vec4<f32>(NOTHING), maximum <= vec4<f32>(NOTHING));
  // Read again, so that nothing of it occupies registers meanwhile; `zero` keeps compilers from merging the reads.
  let end = workOf(group + job.zero);
  let at = end.partial / 4u;
  let plain = (*running).plain;
  let packed = (*running).packed;
  if (end.known.x) { writePartial(at.x, natural.x, total.x, packedTotal.x, plain.a, packed.a, lane); }
  if (end.known.y) { writePartial(at.y, natural.y, total.y, packedTotal.y, plain.b, packed.b, lane); }
  if (end.known.z) { writePartial(at.z, natural.z, total.z, packedTotal.z, plain.c, packed.c, lane); }
  if (end.known.w) { writePartial(at.w, natural.w, total.w, packedTotal.w, plain.d, packed.d, lane); }
}

fn writePartial(at: u32, maximum: f32, sum: f32, packedSum: f32, plain: vec4<f32>, packed: vec4<f32>, lane: u32) {
  if (lane == 0u) {
    partials[at] = vec4<f32>(maximum, sum, packedSum, 0.0);
  }
  partials[at + 1u + lane] = plain;
  if (VALUE_TRANSFORMED) {
    partials[at + 1u + DIM / 4u + lane] = packed;
  }
}

// Four channels of the lane, as packed keys meet them, by row.
fn packedQuery(lane: u32) -> Rows {
  return queryAt(row_queries + vec4<u32>(select(0u, DIM / 4u, KEY_TRANSFORMED) + lane));
}

fn queryAt(at: vec4<u32>) -> Rows {
  return Rows(
    QUERY_SCALE * queries[at.x], QUERY_SCALE * queries[at.y], QUERY_SCALE * queries[at.z], QUERY_SCALE * queries[at.w],
  );
}

// What is added to each dot product with a packed key, by row.
fn addedDots() -> vec4<f32> {
  if (!KEY_TRANSFORMED) {
    return vec4<f32>(0.0);
  }
  let at = row_queries + vec4<u32>(DIM / 2u);
  return QUERY_SCALE * vec4<f32>(queries[at.x].x, queries[at.y].x, queries[at.z].x, queries[at.w].x);
}

// Whether one of the slots of group `group`, of `groups` in a page, is among these. Others may hold any parameters.
fn holdsGroup(slots: Slots, group: u32, groups: u32) -> bool {
  let size = PAGE / groups;
  return group * size < slots.first + slots.count && (group + 1u) * size > slots.first;
}

// Whether the four slots of the lane are among these.
fn holdsSlots(slots: Slots, lane: u32) -> vec4<bool> {
  return vec4<u32>(4u * lane - slots.first) + vec4<u32>(0u, 1u, 2u, 3u) < vec4<u32>(slots.count);
}

fn positionsOf(firstPosition: u32, firstRow: u32) -> vec4<u32> {
  return vec4<u32>(firstPosition) + (vec4<u32>(firstRow) + vec4<u32>(0u, 1u, 2u, 3u)) / GROUP_HEADS;
}

fn seen(offset: u32, count: u32, firstToken: u32, position: vec4<u32>) -> vec4<bool> {
  return select(vec4<bool>(false), visible(firstToken + offset, position), offset < count);
}

// Where nothing was seen yet, what is not seen has the weight 1.
fn shown(weight: vec4<f32>, logit: vec4<f32>) -> vec4<f32> {
  return select(weight, vec4<f32>(0.0), logit <= vec4<f32>(NOTHING));
}

fn rescaled(rows: Rows, by: vec4<f32>) -> Rows {
  return Rows(rows.a * by.x, rows.b * by.y, rows.c * by.z, rows.d * by.w);
}

fn summed(first: Rows, second: Rows) -> Rows {
  return Rows(first.a + second.a, first.b + second.b, first.c + second.c, first.d + second.d);
}
