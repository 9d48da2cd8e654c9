// Values with groups along channels: a scale per token and set of channels is folded into the probabilities, page by page.

// What one of the integers of probabilities is worth, by row: it waits here while words are met.
var<workgroup> value_step: vec4<f32>;

// By set of channels, a vector over the tokens of the lane. A slot that holds no token of the tile may hold anything.
fn valueParameters(slots: Slots, plane: u32, lane: u32) -> Rows {
  let tokens = value_tokenParameters(slots.page + plane, lane);
  let nothing = vec4<f32>(0.0);
  if (slots.count == PAGE) {
    return transposed(tokens);
  }
  let held = holdsSlots(slots, lane);
  return transposed(
    Rows(
      select(nothing, tokens.a, held.x), select(nothing, tokens.b, held.y),
      select(nothing, tokens.c, held.z), select(nothing, tokens.d, held.w),
    ),
  );
}

// Probabilities with the scales of one set of channels.
fn foldValues(shares: Rows, scales: vec4<f32>) -> Rows {
  return Rows(shares.a * scales.x, shares.b * scales.y, shares.c * scales.z, shares.d * scales.w);
}

fn largestRows(rows: Rows) -> vec4<f32> {
  return max(max(rows.a, rows.b), max(rows.c, rows.d));
}

// Stores the parts of one set; returns what the tokens of the lane add to its channels. All fields have one offset.
fn storeValueParts(shares: Rows, scales: vec4<f32>, zeros: vec4<f32>, factors: vec4<f32>, group: u32, lane: u32) -> vec4<f32> {
  let folded = foldValues(shares, scales);
  let bytes = unsignedParts(integersOf(transposed(folded), factors));
  parts[(SPARE_SET + group) * SET + lane] = bytes.high;
  if (PARTS == 2u) {
    parts[(SPARE_SET + VALUE_SETS + group) * SET + lane] = bytes.low;
  }
  var added = vec4<f32>(0.0);
  if (value_lowOffset != 0.0) {
    added += value_lowOffset * (folded.a + folded.b + folded.c + folded.d);
  }
  if (value_hasZero) {
    added += shares.a * zeros.x + shares.b * zeros.y + shares.c * zeros.z + shares.d * zeros.w;
  }
  return added;
}

fn valueDots(slots: Slots, shares: Rows, constants: ptr<function, vec4<f32>>, lane: u32) -> Rows {
  let scales = valueParameters(slots, value_scaleWord / 4u, lane);
  var largest = largestRows(foldValues(shares, scales.a));
  if (VALUE_SETS >= 2u) {
    largest = max(largest, largestRows(foldValues(shares, scales.b)));
  }
  if (VALUE_SETS == 4u) {
    largest = max(largest, max(largestRows(foldValues(shares, scales.c)), largestRows(foldValues(shares, scales.d))));
  }
  largest = largestOfLanes(largest, lane);
  let factors = factorsOf(largest, LARGEST_UNSIGNED);
  var zeros = Rows();
  if (value_hasZero) {
    zeros = valueParameters(slots, value_zeroWord / 4u, lane);
  }
  // What the channels of the lane share, by row.
  var added = vec4<f32>(0.0);
  if (VALUE_SETS == 1u) {
    // Added up at the end.
    *constants += storeValueParts(shares, scales.a, zeros.a, factors, 0u, lane);
  } else {
    // With two parts read again, so that products are computed again instead of held.
    let again = valueParameters(slots, value_scaleWord / 4u + select(0u, job.zero, PARTS == 2u), lane);
    let a = storeValueParts(shares, again.a, zeros.a, factors, 0u, lane);
    let b = storeValueParts(shares, again.b, zeros.b, factors, 1u, lane);
    if (VALUE_SETS == 2u) {
      added = sumsByQuarter(a, a, b, b, lane);
    } else {
      let c = storeValueParts(shares, again.c, zeros.c, factors, 2u, lane);
      let d = storeValueParts(shares, again.d, zeros.d, factors, 3u, lane);
      added = sumsByQuarter(a, b, c, d, lane);
    }
  }
  if (lane == 0u) {
    value_step = largest * (1.0 / LARGEST_UNSIGNED);
  }
  workgroupBarrier();
  let numbers = value_run(slots.page, lane * VALUE_SETS / LANES, lane);
  let factor = value_step;
  return transposed(
    Rows(
      numbers.a * (factor * value_slopes.x) + added, numbers.b * (factor * value_slopes.y) + added,
      numbers.c * (factor * value_slopes.z) + added, numbers.d * (factor * value_slopes.w) + added,
    ),
  );
}

// What all channels share, once all lanes have added theirs.
fn constantsOf(constants: vec4<f32>, lane: u32) -> vec4<f32> {
  return sumOfLanes(constants, lane);
}
