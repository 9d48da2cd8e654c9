// Values with outlier bands: probabilities times maxima of tokens meet codes, probabilities alone meet sides, page by page.

// What one of the integers of probabilities is worth, by row, with maxima and without: they wait here while words are met.
var<workgroup> value_step: vec4<f32>;
var<workgroup> value_sideStep: vec4<f32>;

// Returns what one of the integers is worth, and what those of the lane's tokens are worth together.
fn storeValueParts(rows: Rows, group: u32, lane: u32) -> Pair {
  let largest = largestOfLanes(max(max(rows.a, rows.b), max(rows.c, rows.d)), lane);
  let integers = integersOf(transposed(rows), factorsOf(largest, LARGEST_UNSIGNED));
  let bytes = unsignedParts(integers);
  parts[(value_firstSet + group) * SET + lane] = bytes.high;
  if (PARTS == 2u) {
    parts[(value_firstSet + value_sets + group) * SET + lane] = bytes.low;
  }
  let step = largest * (1.0 / LARGEST_UNSIGNED);
  return Pair(step, step * integerSums(integers));
}

fn valueDots(slots: Slots, shares: Rows, constants: ptr<function, Rows>, lane: u32, inPages: bool) -> Rows {
  holdWeights(lane, shares);
  // A slot that holds no token of the tile may hold anything.
  let scales = select(
    vec4<f32>(0.0), 0.125 * value_ofTokens(slots.page, value_middleWord, lane), holdsSlots(slots, lane),
  );
  let edges = value_edges();
  let folded = Rows(shares.a * scales.x, shares.b * scales.y, shares.c * scales.z, shares.d * scales.w);
  let codes = storeValueParts(folded, 0u, lane);
  let sides = storeValueParts(shares, 1u, lane);
  // Of the rounded integers, so that rounding of probabilities meets codes measured from their middle.
  (*constants).a += edges.y * sides.second - 7.5 * codes.second;
  if (lane == 0u) {
    value_step = codes.first;
    value_sideStep = (edges.z - edges.y) * sides.first;
  }
  workgroupBarrier();
  let isClosed = value_isClosed(slots.page);
  let entries = value_entriesOf(slots.page, lane);
  let numbers = value_run(slots.page, lane);
  let code = value_step;
  let side = value_sideStep;
  let dots = Rows(
    code * value_slopes.x * numbers.codes.a + side * value_sideSlopes.x * numbers.sides.a,
    code * value_slopes.y * numbers.codes.b + side * value_sideSlopes.y * numbers.sides.b,
    code * value_slopes.z * numbers.codes.c + side * value_sideSlopes.z * numbers.sides.c,
    code * value_slopes.w * numbers.codes.d + side * value_sideSlopes.w * numbers.sides.d,
  );
  // Parts have been read.
  workgroupBarrier();
  return transposed(summed(dots, value_outliers(slots, isClosed, entries, lane)));
}

// What all channels share, by row, once all lanes have added theirs.
fn constantsOf(constants: Rows, lane: u32) -> vec4<f32> {
  return sumOfLanes(constants.a, lane);
}
