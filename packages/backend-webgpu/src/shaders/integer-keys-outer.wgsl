// Keys with groups along tokens: a scale per channel and set of tokens is folded into the query, page by page.

// While words are met, these wait here: registers are scarcer. What one of the integers of the query is worth, by row; what
// is added to tokens in the highest fields, and to others, by set.
var<workgroup> key_step: vec4<f32>;
var<workgroup> key_added: array<vec4<f32>, 2u * KEY_SETS>;

fn prepareKeys(lane: u32) {}

// Of one set of tokens: the query times the scales of channels, and products of the query with zeros.
struct Folded {
  rows: Rows,
  zeros: vec4<f32>,
}

fn foldKeys(slots: Slots, group: u32, lane: u32) -> Folded {
  // Read again for every page: held, it would cost the registers of more workgroups.
  let query = packedQuery(lane);
  let held = holdsGroup(slots, group, KEY_SETS);
  let scale = select(vec4<f32>(0.0), key_channelParameters(slots.page + key_scaleWord / 4u, group, lane), held);
  var zeros = vec4<f32>(0.0);
  if (key_hasZero) {
    let zero = select(vec4<f32>(0.0), key_channelParameters(slots.page + key_zeroWord / 4u, group, lane), held);
    zeros = vec4<f32>(dot(query.a, zero), dot(query.b, zero), dot(query.c, zero), dot(query.d, zero));
  }
  return Folded(Rows(query.a * scale, query.b * scale, query.c * scale, query.d * scale), zeros);
}

fn largestOfRows(rows: Rows) -> vec4<f32> {
  return vec4<f32>(largestOf(rows.a), largestOf(rows.b), largestOf(rows.c), largestOf(rows.d));
}

fn sumsOfRows(rows: Rows) -> vec4<f32> {
  let ones = vec4<f32>(1.0);
  return vec4<f32>(dot(rows.a, ones), dot(rows.b, ones), dot(rows.c, ones), dot(rows.d, ones));
}

// Stores the parts of one set; returns what the channels of the lane add to tokens in the highest fields, and in others.
// Sums over unsigned fields are taken about half their range, as those over signed ones are: rounding of the query then
// meets smaller numbers.
fn storeKeyParts(folded: Folded, factors: vec4<f32>, step: vec4<f32>, group: u32, lane: u32) -> Pair {
  let integers = integersOf(folded.rows, factors);
  let bytes = signedParts(integers);
  parts[group * SET + lane] = bytes.high;
  if (PARTS == 2u) {
    parts[(KEY_SETS + group) * SET + lane] = bytes.low;
  }
  let scales = sumsOfRows(folded.rows);
  let rounded = integerSums(integers) * step;
  return Pair(
    folded.zeros + key_topOffset * scales, folded.zeros + key_lowOffset * scales + key_half * (scales - rounded),
  );
}

// All sets of a page share one factor: one reduction, and no more of the 15 bits than their scales differ by.
fn keyDots(slots: Slots, lane: u32, inPages: bool) -> Rows {
  let own = lane * KEY_SETS / LANES;
  let a = foldKeys(slots, 0u, lane);
  var step = vec4<f32>(0.0);
  var added: Pair;
  if (KEY_SETS == 1u) {
    let largest = largestOfLanes(largestOfRows(a.rows), lane);
    step = largest * (1.0 / LARGEST_SIGNED);
    let sums = storeKeyParts(a, factorsOf(largest, LARGEST_SIGNED), step, 0u, lane);
    added = sumsOfLanes(sums.first, sums.second, lane);
  } else if (KEY_SETS == 2u) {
    let b = foldKeys(slots, 1u, lane);
    let largest = largestOfLanes(max(largestOfRows(a.rows), largestOfRows(b.rows)), lane);
    step = largest * (1.0 / LARGEST_SIGNED);
    let factors = factorsOf(largest, LARGEST_SIGNED);
    let sumsA = storeKeyParts(a, factors, step, 0u, lane);
    let sumsB = storeKeyParts(b, factors, step, 1u, lane);
    added = Pair(
      sumsByQuarter(sumsA.first, sumsA.first, sumsB.first, sumsB.first, lane),
      sumsByQuarter(sumsA.second, sumsA.second, sumsB.second, sumsB.second, lane),
    );
  } else {
    let b = foldKeys(slots, 1u, lane);
    let c = foldKeys(slots, 2u, lane);
    let d = foldKeys(slots, 3u, lane);
    let largest = largestOfLanes(
      max(max(largestOfRows(a.rows), largestOfRows(b.rows)), max(largestOfRows(c.rows), largestOfRows(d.rows))), lane,
    );
    step = largest * (1.0 / LARGEST_SIGNED);
    let factors = factorsOf(largest, LARGEST_SIGNED);
    let sumsA = storeKeyParts(a, factors, step, 0u, lane);
    let sumsB = storeKeyParts(b, factors, step, 1u, lane);
    let sumsC = storeKeyParts(c, factors, step, 2u, lane);
    let sumsD = storeKeyParts(d, factors, step, 3u, lane);
    added = Pair(
      sumsByQuarter(sumsA.first, sumsB.first, sumsC.first, sumsD.first, lane),
      sumsByQuarter(sumsA.second, sumsB.second, sumsC.second, sumsD.second, lane),
    );
  }
  if (lane == 0u) {
    key_step = step;
  }
  // The first lane of each set.
  if (lane % (LANES / KEY_SETS) == 0u) {
    key_added[2u * own] = added.first;
    key_added[2u * own + 1u] = added.second;
  }
  workgroupBarrier();
  let numbers = key_run(slots.page, own, lane, inPages);
  let worth = key_step;
  let top = key_added[2u * own];
  let low = key_added[2u * own + 1u];
  return Rows(
    numbers.a * (worth * key_slopes.x) + select(low, top, key_isTop.x),
    numbers.b * (worth * key_slopes.y) + select(low, top, key_isTop.y),
    numbers.c * (worth * key_slopes.z) + select(low, top, key_isTop.z),
    numbers.d * (worth * key_slopes.w) + select(low, top, key_isTop.w),
  );
}
