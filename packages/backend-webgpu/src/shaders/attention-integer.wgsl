// The packing kernel on whole pages of 128 tokens, head dim 128: codes stay in the words they are stored in and meet 8-bit
// parts of queries and of probabilities in dot4I8Packed and dot4U8Packed. One workgroup: the segments of one split of one sequence, one kv
// head, four query rows.
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
@group(0) @binding(6) var<storage, read_write> partials: array<f32>;

// Workgroup memory decides how many workgroups a processor holds: everything lives in this one array, in turn. Parts of the
// folded query by [part and set, lane], four channels of the lane in a word, four rows in a vector; parts of the folded
// probabilities, four tokens of the lane in a word; the query as f32 by channel, for tokens in f16; probabilities as f32 by
// token of a tile.
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

@compute @workgroup_size(LANES)
fn attend(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) lane: u32) {
  let work = workOf(group);
  if (work.firstRow >= work.rows) {
    return;
  }
  let head = work.head;
  attended_head = head;
  if (lane == 0u) {
    row_queries = work.query / 4u;
    row_maximum = vec4<f32>(NOTHING);
  }
  workgroupBarrier();
  let added = addedDots();
  prepareKeys(lane);

  // Of this lane's tokens alone; added up at the end.
  var sum = vec4<f32>(0.0);
  var packedSum = vec4<f32>(0.0);
  var plain = Rows();
  var packed = Rows();
  // What all channels of a set share, by set: zeros and offsets of values, of this lane's tokens alone.
  var constants = Rows();

  for (var s = 0u; s < work.segments; s += 1u) {
    let segment = segmentAt(work.firstSegment + s);
    // Tokens in the same slots of packed pages of both tensors: nothing moves between lanes.
    let aligned = segment.key_source == SOURCE_PACKED && segment.value_source == SOURCE_PACKED &&
      segment.key_slot == segment.value_slot;
    let step = select(LANES, PAGE, aligned);
    for (var start = 0u; start < segment.count; start += step) {
      let count = min(step, segment.count - start);
      let firstToken = segment.position + start;
      // A whole page that every row sees whole: nothing is masked.
      let full = aligned && count == PAGE && WINDOW_SIZE == 0u &&
        firstToken + PAGE <= work.firstPosition + work.firstRow / GROUP_HEADS + 1u;

      // Logits of the tile, at most four tokens a lane.
      var logits = Rows(vec4<f32>(NOTHING), vec4<f32>(NOTHING), vec4<f32>(NOTHING), vec4<f32>(NOTHING));
      var offset = lane;
      if (segment.key_source == SOURCE_PACKED) {
        let slot = segment.key_slot + start;
        let page = segment.key_page / 4u + head * key_headWords / 4u;
        let dotted = keyDots(Slots(page, slot, count), lane);
        let found = Rows(
          capped(dotted.a + added), capped(dotted.b + added), capped(dotted.c + added), capped(dotted.d + added),
        );
        // Wraps for tokens before the tile, which are then not below its count.
        offset = 4u * lane - slot;
        if (full) {
          logits = found;
        } else {
          let position = positionsOf(work.firstPosition, work.firstRow);
          logits.a = select(logits.a, found.a, seen(offset, count, firstToken, position));
          logits.b = select(logits.b, found.b, seen(offset + 1u, count, firstToken, position));
          logits.c = select(logits.c, found.c, seen(offset + 2u, count, firstToken, position));
          logits.d = select(logits.d, found.d, seen(offset + 3u, count, firstToken, position));
        }
      } else {
        holdQuery(lane);
        workgroupBarrier();
        // Lanes past the last token repeat it unseen: lanes that part ways may not meet again before the next reduction.
        let token = min(lane, count - 1u);
        let dotted = plainDots(segment.key_source, segment.key_page, segment.key_slot + start + token, head);
        let position = positionsOf(work.firstPosition, work.firstRow);
        logits.a = select(logits.a, capped(dotted), seen(lane, count, firstToken, position));
      }

      var maximum = row_maximum;
      let raised = raisedBy(max(max(logits.a, logits.b), max(logits.c, logits.d)), maximum, lane);
      if (any(raised > maximum)) {
        let rescale = exp2(maximum - raised);
        maximum = raised;
        sum *= rescale;
        plain = rescaled(plain, rescale);
        if (VALUE_TRANSFORMED) {
          packed = rescaled(packed, rescale);
          packedSum *= rescale;
        }
        constants = Rows(constants.a * rescale, constants.b * rescale, constants.c * rescale, constants.d * rescale);
      }
      var shares = Rows(
        exp2(logits.a - maximum), exp2(logits.b - maximum), exp2(logits.c - maximum), exp2(logits.d - maximum),
      );
      if (!full) {
        shares = Rows(
          shown(shares.a, logits.a), shown(shares.b, logits.b), shown(shares.c, logits.c), shown(shares.d, logits.d),
        );
      }
      sum += shares.a + shares.b + shares.c + shares.d;

      // Nobody still reads parts of keys, or the maximum.
      workgroupBarrier();
      if (lane == 0u) {
        row_maximum = maximum;
      }
      if (!aligned) {
        keepWeight(offset, shares.a);
        if (segment.key_source == SOURCE_PACKED) {
          keepWeight(offset + 1u, shares.b);
          keepWeight(offset + 2u, shares.c);
          keepWeight(offset + 3u, shares.d);
        }
        workgroupBarrier();
      }

      if (segment.value_source == SOURCE_PACKED) {
        let slot = segment.value_slot + start;
        if (!aligned) {
          let begin = 4u * lane - slot;
          shares = Rows(
            weightAt(begin, count), weightAt(begin + 1u, count), weightAt(begin + 2u, count), weightAt(begin + 3u, count),
          );
          workgroupBarrier();
        }
        let page = segment.value_page / 4u + head * value_headWords / 4u;
        let result = valueDots(Slots(page, slot, count), shares, &constants, lane);
        if (VALUE_TRANSFORMED) {
          packed = summed(packed, result);
          packedSum += shares.a + shares.b + shares.c + shares.d;
        } else {
          plain = summed(plain, result);
        }
      } else {
        plain = plainValues(plain, segment.value_source, segment.value_page, segment.value_slot + start, count, head, lane);
      }
      workgroupBarrier();
    }
  }

  let total = sumOfLanes(sum, lane);
  let packedTotal = sumOfLanes(packedSum, lane);
  let constant = constantsOf(constants, lane);
  let everywhere = Rows(vec4<f32>(constant.x), vec4<f32>(constant.y), vec4<f32>(constant.z), vec4<f32>(constant.w));
  if (VALUE_TRANSFORMED) {
    packed = summed(packed, everywhere);
  } else {
    plain = summed(plain, everywhere);
  }
  let maximum = row_maximum;
  let natural = select(maximum * LN_2, vec4<f32>(NOTHING), maximum <= vec4<f32>(NOTHING));
  // Again, rather than held all the time.
  let end = workOf(group);
  let known = end.known;
  let partial = end.partial;
  if (known.x) { writePartial(partial.x, natural.x, total.x, packedTotal.x, plain.a, packed.a, lane); }
  if (known.y) { writePartial(partial.y, natural.y, total.y, packedTotal.y, plain.b, packed.b, lane); }
  if (known.z) { writePartial(partial.z, natural.z, total.z, packedTotal.z, plain.c, packed.c, lane); }
  if (known.w) { writePartial(partial.w, natural.w, total.w, packedTotal.w, plain.d, packed.d, lane); }
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

// The query as f32, a vector over rows by channel.
fn holdQuery(lane: u32) {
  let channels = transposed(queryAt(row_queries + vec4<u32>(lane)));
  holdChannel(4u * lane, channels.a);
  holdChannel(4u * lane + 1u, channels.b);
  holdChannel(4u * lane + 2u, channels.c);
  holdChannel(4u * lane + 3u, channels.d);
}

fn holdChannel(channel: u32, rows: vec4<f32>) {
  parts[SPARE_SET * SET + channel] = bitcast<vec4<u32>>(rows);
}

fn heldChannel(channel: u32) -> vec4<f32> {
  return bitcast<vec4<f32>>(parts[SPARE_SET * SET + channel]);
}

// Probabilities of a tile of at most as many tokens as there are lanes, and of one outside.
fn keepWeight(token: u32, weight: vec4<f32>) {
  parts[SPARE_SET * SET + min(token, LANES)] = bitcast<vec4<u32>>(weight);
}

fn keptWeight(token: u32) -> vec4<f32> {
  return bitcast<vec4<f32>>(parts[SPARE_SET * SET + min(token, LANES)]);
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

fn weightAt(offset: u32, count: u32) -> vec4<f32> {
  return select(vec4<f32>(0.0), keptWeight(offset), offset < count);
}

fn rescaled(rows: Rows, by: vec4<f32>) -> Rows {
  return Rows(rows.a * by.x, rows.b * by.y, rows.c * by.z, rows.d * by.w);
}

fn summed(first: Rows, second: Rows) -> Rows {
  return Rows(first.a + second.a, first.b + second.b, first.c + second.c, first.d + second.d);
}

fn writePartial(at: u32, maximum: f32, sum: f32, packedSum: f32, plain: vec4<f32>, packed: vec4<f32>, lane: u32) {
  if (lane == 0u) {
    partials[at] = maximum;
    partials[at + 1u] = sum;
    partials[at + 2u] = packedSum;
  }
  for (var i = 0u; i < 4u; i += 1u) {
    partials[at + 3u + 4u * lane + i] = plain[i];
    if (VALUE_TRANSFORMED) {
      partials[at + 3u + DIM + 4u * lane + i] = packed[i];
    }
  }
}

// Eight channels of a key in f16 against four rows.
fn eightDots(words: vec4<u32>, channel: u32) -> vec4<f32> {
  let low = fourHalves(words, false);
  let high = fourHalves(words, true);
  return heldChannel(channel) * low.x + heldChannel(channel + 1u) * low.y +
    heldChannel(channel + 2u) * low.z + heldChannel(channel + 3u) * low.w +
    heldChannel(channel + 4u) * high.x + heldChannel(channel + 5u) * high.y +
    heldChannel(channel + 6u) * high.z + heldChannel(channel + 7u) * high.w;
}

// Dot products of four rows with one f16 token; four loads are on their way at once.
fn plainDots(source: u32, page: u32, slot: u32, head: u32) -> vec4<f32> {
  var dot = vec4<f32>(0.0);
  if (source == SOURCE_WINDOW) {
    let at = page / 8u + (head * WINDOW_TOKENS + slot) * (DIM / 8u);
    for (var i = 0u; i < DIM / 8u + job.zero; i += 4u) {
      let a = key_memory[at + i];
      let b = key_memory[at + i + 1u];
      let c = key_memory[at + i + 2u];
      let d = key_memory[at + i + 3u];
      dot += eightDots(a, 8u * i) + eightDots(b, 8u * i + 8u) + eightDots(c, 8u * i + 16u) + eightDots(d, 8u * i + 24u);
    }
    return dot;
  }
  let at = (page + (slot * key_heads + head) * DIM) / 2u;
  for (var i = 0u; i < DIM / 8u + job.zero; i += 2u) {
    let a = inputWords(at + 4u * i);
    let b = inputWords(at + 4u * i + 4u);
    dot += eightDots(a, 8u * i) + eightDots(b, 8u * i + 8u);
  }
  return dot;
}

fn inputWords(at: u32) -> vec4<u32> {
  return vec4<u32>(inputs[at], inputs[at + 1u], inputs[at + 2u], inputs[at + 3u]);
}

// Adds f16 values, weighted; a lane owns four channels. Eight tokens are on their way at once.
fn plainValues(rows: Rows, source: u32, page: u32, slot: u32, count: u32, head: u32, lane: u32) -> Rows {
  var result = rows;
  for (var t = 0u; t < count + job.zero; t += 8u) {
    let a = plainValue(source, page, slot + t, head, lane);
    // Past the last token there is nothing to read: the last one again.
    let b = plainValue(source, page, slot + min(t + 1u, count - 1u), head, lane);
    let c = plainValue(source, page, slot + min(t + 2u, count - 1u), head, lane);
    let d = plainValue(source, page, slot + min(t + 3u, count - 1u), head, lane);
    let e = plainValue(source, page, slot + min(t + 4u, count - 1u), head, lane);
    let f = plainValue(source, page, slot + min(t + 5u, count - 1u), head, lane);
    let g = plainValue(source, page, slot + min(t + 6u, count - 1u), head, lane);
    let h = plainValue(source, page, slot + min(t + 7u, count - 1u), head, lane);
    result = withValue(result, a, t, count);
    result = withValue(result, b, t + 1u, count);
    result = withValue(result, c, t + 2u, count);
    result = withValue(result, d, t + 3u, count);
    result = withValue(result, e, t + 4u, count);
    result = withValue(result, f, t + 5u, count);
    result = withValue(result, g, t + 6u, count);
    result = withValue(result, h, t + 7u, count);
  }
  return result;
}

// Four f16 values of the lane.
fn plainValue(source: u32, page: u32, slot: u32, head: u32, lane: u32) -> vec2<u32> {
  if (source == SOURCE_WINDOW) {
    let words = value_memory[page / 8u + (head * WINDOW_TOKENS + slot) * (DIM / 8u) + lane / 2u];
    return select(words.xy, words.zw, (lane & 1u) != 0u);
  }
  let at = (page + (slot * value_heads + head) * DIM) / 2u + 2u * lane;
  return vec2<u32>(inputs[at], inputs[at + 1u]);
}

fn withValue(rows: Rows, words: vec2<u32>, token: u32, count: u32) -> Rows {
  let value = vec4<f32>(unpack2x16float(words.x), unpack2x16float(words.y));
  let weight = weightAt(token, count);
  return Rows(
    rows.a + hidden(weight.x, value), rows.b + hidden(weight.y, value),
    rows.c + hidden(weight.z, value), rows.d + hidden(weight.w, value),
  );
}

// A weight of zero hides its value, whatever it is.
fn hidden(weight: f32, value: vec4<f32>) -> vec4<f32> {
  return select(weight * value, vec4<f32>(0.0), weight == 0.0);
}
