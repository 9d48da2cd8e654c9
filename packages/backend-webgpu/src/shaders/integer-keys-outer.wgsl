// Keys with groups along tokens: a scale per channel and set of tokens is folded into the query, page by page.

fn prepareKeys(lane: u32) {}

// The query with the scales of one set of tokens, and its products with zeros and with scales.
struct Folded {
  rows: Rows,
  zeros: vec4<f32>,
  scales: vec4<f32>,
}

fn foldKeys(slots: Slots, group: u32, lane: u32) -> Folded {
  // Read again for every page: held, it would cost the registers of more workgroups.
  let query = packedQuery(lane);
  let held = holdsGroup(slots, group, KEY_SETS);
  let scale = select(vec4<f32>(0.0), key_channelParameters(slots.page + key_scaleWord / 4u, group, lane), held);
  let rows = Rows(query.a * scale, query.b * scale, query.c * scale, query.d * scale);
  var zeros = vec4<f32>(0.0);
  if (key_hasZero) {
    let zero = select(vec4<f32>(0.0), key_channelParameters(slots.page + key_zeroWord / 4u, group, lane), held);
    zeros = vec4<f32>(dot(query.a, zero), dot(query.b, zero), dot(query.c, zero), dot(query.d, zero));
  }
  let ones = vec4<f32>(1.0);
  return Folded(
    rows,
    zeros,
    vec4<f32>(dot(rows.a, ones), dot(rows.b, ones), dot(rows.c, ones), dot(rows.d, ones)),
  );
}

fn largestOfRows(rows: Rows) -> vec4<f32> {
  return vec4<f32>(largestOf(rows.a), largestOf(rows.b), largestOf(rows.c), largestOf(rows.d));
}

fn storeKeyParts(folded: Folded, factors: vec4<f32>, group: u32, lane: u32) {
  let bytes = signedParts(folded.rows, factors);
  parts[group][lane] = bytes.high;
  if (PARTS == 2u) {
    parts[KEY_SETS + group][lane] = bytes.low;
  }
}

// All sets of a page share one factor: one reduction, and no more of the 15 bits than their scales differ by.
fn keyDots(slots: Slots, lane: u32) -> Rows {
  let own = lane * KEY_SETS / LANES;
  var zeros = vec4<f32>(0.0);
  var scales = vec4<f32>(0.0);
  var largest = vec4<f32>(0.0);
  let a = foldKeys(slots, 0u, lane);
  if (KEY_SETS == 1u) {
    largest = largestOfLanes(largestOfRows(a.rows), lane);
    let both = sumsOfLanes(a.zeros, a.scales, lane);
    zeros = both.first;
    scales = both.second;
    storeKeyParts(a, factorsOf(largest, LARGEST_SIGNED), 0u, lane);
  } else if (KEY_SETS == 2u) {
    let b = foldKeys(slots, 1u, lane);
    largest = largestOfLanes(max(largestOfRows(a.rows), largestOfRows(b.rows)), lane);
    zeros = sumsByQuarter(a.zeros, a.zeros, b.zeros, b.zeros, lane);
    scales = sumsByQuarter(a.scales, a.scales, b.scales, b.scales, lane);
    let factors = factorsOf(largest, LARGEST_SIGNED);
    storeKeyParts(a, factors, 0u, lane);
    storeKeyParts(b, factors, 1u, lane);
  } else {
    let b = foldKeys(slots, 1u, lane);
    let c = foldKeys(slots, 2u, lane);
    let d = foldKeys(slots, 3u, lane);
    largest = largestOfLanes(
      max(max(largestOfRows(a.rows), largestOfRows(b.rows)), max(largestOfRows(c.rows), largestOfRows(d.rows))), lane,
    );
    zeros = sumsByQuarter(a.zeros, b.zeros, c.zeros, d.zeros, lane);
    scales = sumsByQuarter(a.scales, b.scales, c.scales, d.scales, lane);
    let factors = factorsOf(largest, LARGEST_SIGNED);
    storeKeyParts(a, factors, 0u, lane);
    storeKeyParts(b, factors, 1u, lane);
    storeKeyParts(c, factors, 2u, lane);
    storeKeyParts(d, factors, 3u, lane);
  }
  workgroupBarrier();
  let numbers = key_run(slots.page, own, lane);
  let factor = largest * (1.0 / LARGEST_SIGNED);
  return Rows(
    numbers.a * (factor * key_slopes.x) + (zeros + key_offsets.x * scales),
    numbers.b * (factor * key_slopes.y) + (zeros + key_offsets.y * scales),
    numbers.c * (factor * key_slopes.z) + (zeros + key_offsets.z * scales),
    numbers.d * (factor * key_slopes.w) + (zeros + key_offsets.w * scales),
  );
}
