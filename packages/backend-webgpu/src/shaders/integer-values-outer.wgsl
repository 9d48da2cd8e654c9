// Values with groups along channels: a scale per token and set of channels is folded into the probabilities, page by page.

// Scales that have signs make signed integers of probabilities.
const LARGEST_FOLDED = select(LARGEST_UNSIGNED, LARGEST_SIGNED, value_signed);

// What one of the integers of probabilities is worth, by row: it waits here while words are met.
var<workgroup> value_step: vec4<f32>;

// Probabilities with the scales of one set of channels; what decoding adds goes into `added`.
fn foldValues(shares: Rows, scales: vec4<f32>, zeros: vec4<f32>, added: ptr<function, vec4<f32>>) -> Rows {
  let folded = Rows(shares.a * scales.x, shares.b * scales.y, shares.c * scales.z, shares.d * scales.w);
  // All fields have one offset, or the highest ones none.
  if (value_lowOffset != 0.0) {
    *added += value_lowOffset * (folded.a + folded.b + folded.c + folded.d);
  }
  if (value_hasZero) {
    *added += shares.a * zeros.x + shares.b * zeros.y + shares.c * zeros.z + shares.d * zeros.w;
  }
  return folded;
}

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

fn largestRows(rows: Rows) -> vec4<f32> {
  if (value_signed) {
    return max(max(abs(rows.a), abs(rows.b)), max(abs(rows.c), abs(rows.d)));
  }
  return max(max(rows.a, rows.b), max(rows.c, rows.d));
}

fn foldedParts(integers: Integers) -> Parts {
  if (value_signed) {
    return signedParts(integers);
  }
  return unsignedParts(integers);
}

// Stores the parts of one set; what rounding took from the lane's tokens, times the middle of the codes, goes into `added`: rounding
// then meets codes measured from their middle. Two parts are exact enough without.
fn storeValueParts(folded: Rows, largest: vec4<f32>, group: u32, added: ptr<function, vec4<f32>>, lane: u32) {
  let integers = integersOf(transposed(folded), factorsOf(largest, LARGEST_FOLDED));
  let bytes = foldedParts(integers);
  parts[(SPARE_SET + group) * SET + lane] = bytes.high;
  if (PARTS == 2u) {
    parts[(SPARE_SET + VALUE_SETS + group) * SET + lane] = bytes.low;
  } else {
    let rounded = integerSums(integers) * (largest * (1.0 / LARGEST_FOLDED));
    *added += (value_half - 0.5) * (folded.a + folded.b + folded.c + folded.d - rounded);
  }
}

fn valueDots(slots: Slots, shares: Rows, constants: ptr<function, Rows>, lane: u32, inPages: bool) -> Rows {
  let scales = valueParameters(slots, value_scaleWord / 4u, lane);
  var zeros = Rows();
  if (value_hasZero) {
    zeros = valueParameters(slots, value_zeroWord / 4u, lane);
  }
  let a = foldValues(shares, scales.a, zeros.a, &(*constants).a);
  var largest = largestRows(a);
  if (VALUE_SETS == 1u) {
    largest = largestOfLanes(largest, lane);
    storeValueParts(a, largest, 0u, &(*constants).a, lane);
  } else if (VALUE_SETS == 2u) {
    let b = foldValues(shares, scales.b, zeros.b, &(*constants).b);
    largest = largestOfLanes(max(largest, largestRows(b)), lane);
    storeValueParts(a, largest, 0u, &(*constants).a, lane);
    storeValueParts(b, largest, 1u, &(*constants).b, lane);
  } else {
    let b = foldValues(shares, scales.b, zeros.b, &(*constants).b);
    let c = foldValues(shares, scales.c, zeros.c, &(*constants).c);
    let d = foldValues(shares, scales.d, zeros.d, &(*constants).d);
    largest = largestOfLanes(max(max(largest, largestRows(b)), max(largestRows(c), largestRows(d))), lane);
    storeValueParts(a, largest, 0u, &(*constants).a, lane);
    storeValueParts(b, largest, 1u, &(*constants).b, lane);
    storeValueParts(c, largest, 2u, &(*constants).c, lane);
    storeValueParts(d, largest, 3u, &(*constants).d, lane);
  }
  if (lane == 0u) {
    value_step = largest * (1.0 / LARGEST_FOLDED);
  }
  workgroupBarrier();
  let numbers = value_run(slots.page, lane * VALUE_SETS / LANES, lane, inPages);
  let factor = value_step;
  return transposed(
    Rows(
      numbers.a * (factor * value_slopes.x), numbers.b * (factor * value_slopes.y),
      numbers.c * (factor * value_slopes.z), numbers.d * (factor * value_slopes.w),
    ),
  );
}

// What the channels of this lane share, by row, once all lanes have added theirs.
fn constantsOf(constants: Rows, lane: u32) -> vec4<f32> {
  if (VALUE_SETS == 1u) {
    return sumOfLanes(constants.a, lane);
  }
  if (VALUE_SETS == 2u) {
    return sumsByQuarter(constants.a, constants.a, constants.b, constants.b, lane);
  }
  return sumsByQuarter(constants.a, constants.b, constants.c, constants.d, lane);
}
