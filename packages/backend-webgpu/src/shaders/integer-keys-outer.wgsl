// Keys with groups along tokens: a scale per channel and set of tokens is folded into the query, page by page.

fn prepareKeys(lane: u32) {}

// Of one set of tokens: the query times the scales of channels, and products of both with zeros.
struct Folded {
  rows: Rows,
  zeros: vec4<f32>,
}

// `nothing` is 0, which the compiler cannot know: what is computed from it it does not hold instead of computing it again.
fn foldKeys(slots: Slots, group: u32, lane: u32, nothing: u32) -> Folded {
  // Read again for every page: held, it would cost the registers of more workgroups.
  let query = packedQuery(lane + nothing);
  let held = holdsGroup(slots, group, KEY_SETS);
  let scale = select(vec4<f32>(0.0), key_channelParameters(slots.page + nothing + key_scaleWord / 4u, group, lane), held);
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
fn keyDots(slots: Slots, lane: u32) -> Rows {
  let own = lane * KEY_SETS / LANES;
  var step = vec4<f32>(0.0);
  var added: Pair;
  let first = foldKeys(slots, 0u, lane, 0u);
  if (KEY_SETS == 1u) {
    let largest = largestOfLanes(largestOfRows(first.rows), lane);
    step = largest * (1.0 / LARGEST_SIGNED);
    let sums = storeKeyParts(first, factorsOf(largest, LARGEST_SIGNED), step, 0u, lane);
    added = sumsOfLanes(sums.first, sums.second, lane);
  } else if (KEY_SETS == 2u) {
    let second = foldKeys(slots, 1u, lane, 0u);
    let largest = largestOfLanes(max(largestOfRows(first.rows), largestOfRows(second.rows)), lane);
    step = largest * (1.0 / LARGEST_SIGNED);
    let factors = factorsOf(largest, LARGEST_SIGNED);
    let sumsA = storeKeyParts(first, factors, step, 0u, lane);
    let sumsB = storeKeyParts(second, factors, step, 1u, lane);
    added = Pair(
      sumsByQuarter(sumsA.first, sumsA.first, sumsB.first, sumsB.first, lane),
      sumsByQuarter(sumsA.second, sumsA.second, sumsB.second, sumsB.second, lane),
    );
  } else {
    var lanes = largestOfRows(first.rows);
    lanes = max(lanes, largestOfRows(foldKeys(slots, 1u, lane, 0u).rows));
    lanes = max(lanes, largestOfRows(foldKeys(slots, 2u, lane, 0u).rows));
    lanes = max(lanes, largestOfRows(foldKeys(slots, 3u, lane, 0u).rows));
    let largest = largestOfLanes(lanes, lane);
    step = largest * (1.0 / LARGEST_SIGNED);
    let factors = factorsOf(largest, LARGEST_SIGNED);
    let sumsA = storeKeyParts(foldKeys(slots, 0u, lane, job.zero), factors, step, 0u, lane);
    let sumsB = storeKeyParts(foldKeys(slots, 1u, lane, job.zero), factors, step, 1u, lane);
    let sumsC = storeKeyParts(foldKeys(slots, 2u, lane, job.zero), factors, step, 2u, lane);
    let sumsD = storeKeyParts(foldKeys(slots, 3u, lane, job.zero), factors, step, 3u, lane);
    added = Pair(
      sumsByQuarter(sumsA.first, sumsB.first, sumsC.first, sumsD.first, lane),
      sumsByQuarter(sumsA.second, sumsB.second, sumsC.second, sumsD.second, lane),
    );
  }
  workgroupBarrier();
  let numbers = key_run(slots.page, own, lane);
  return Rows(
    numbers.a * (step * key_slopes.x) + addedTo(added, key_isTop.x), numbers.b * (step * key_slopes.y) + addedTo(added, key_isTop.y),
    numbers.c * (step * key_slopes.z) + addedTo(added, key_isTop.z), numbers.d * (step * key_slopes.w) + addedTo(added, key_isTop.w),
  );
}

fn addedTo(added: Pair, top: bool) -> vec4<f32> {
  return select(added.second, added.first, top);
}
