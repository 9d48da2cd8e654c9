// Keys with groups along tokens: a scale per channel and set of tokens is folded into the query, page by page.

struct KeyRun {
  result: Rows,
}

fn prepareKeys(query: Rows, lane: u32) {}

// The query with the scales of one set of tokens, and its products with what decoding adds.
struct Folded {
  rows: Rows,
  added: vec4<f32>,
  largest: vec4<f32>,
}

fn foldKeys(page: u32, group: u32, lane: u32) -> Folded {
  // Read again for every page: held, it would cost the registers of four more workgroups.
  let query = packedQuery(lane);
  let scale = key_channelParameters(page + key_scaleWord / 4u, group, lane);
  var offsets = key_offset * scale;
  if (key_hasZero) {
    offsets += key_channelParameters(page + key_zeroWord / 4u, group, lane);
  }
  let rows = Rows(query.a * scale, query.b * scale, query.c * scale, query.d * scale);
  return Folded(
    rows,
    vec4<f32>(dot(query.a, offsets), dot(query.b, offsets), dot(query.c, offsets), dot(query.d, offsets)),
    vec4<f32>(largestOf(rows.a), largestOf(rows.b), largestOf(rows.c), largestOf(rows.d)),
  );
}

fn storeKeyParts(folded: Folded, factors: vec4<f32>, group: u32, lane: u32) {
  let bytes = partsOf(folded.rows, factors);
  parts[group][lane] = bytes.high;
  if (PARTS == 2u) {
    parts[KEY_SETS + group][lane] = bytes.low;
  }
}

// All sets of a page share one factor: one reduction, and no more of the 15 bits than their scales differ by.
fn keyDots(page: u32, lane: u32) -> Rows {
  let own = lane * KEY_SETS / LANES;
  var bias = vec4<f32>(0.0);
  var largest = vec4<f32>(0.0);
  let a = foldKeys(page, 0u, lane);
  if (KEY_SETS == 1u) {
    largest = largestOfLanes(a.largest, lane);
    bias = sumOfLanes(a.added, lane);
    storeKeyParts(a, factorsOf(largest), 0u, lane);
  } else if (KEY_SETS == 2u) {
    let b = foldKeys(page, 1u, lane);
    largest = largestOfLanes(max(a.largest, b.largest), lane);
    bias = sumsByQuarter(a.added, a.added, b.added, b.added, lane);
    let factors = factorsOf(largest);
    storeKeyParts(a, factors, 0u, lane);
    storeKeyParts(b, factors, 1u, lane);
  } else {
    let b = foldKeys(page, 1u, lane);
    let c = foldKeys(page, 2u, lane);
    let d = foldKeys(page, 3u, lane);
    largest = largestOfLanes(max(max(a.largest, b.largest), max(c.largest, d.largest)), lane);
    bias = sumsByQuarter(a.added, b.added, c.added, d.added, lane);
    let factors = factorsOf(largest);
    storeKeyParts(a, factors, 0u, lane);
    storeKeyParts(b, factors, 1u, lane);
    storeKeyParts(c, factors, 2u, lane);
    storeKeyParts(d, factors, 3u, lane);
  }
  workgroupBarrier();
  var run: KeyRun;
  key_run(&run, page, own, lane);
  let factor = largest * (key_slope / LARGEST_PART);
  let numbers = run.result;
  return Rows(
    numbers.a * factor + bias, numbers.b * factor + bias, numbers.c * factor + bias, numbers.d * factor + bias,
  );
}

fn key_group(run: ptr<function, KeyRun>, sums: Sums, group: u32) {
  (*run).result = numbersOf(sums);
}
