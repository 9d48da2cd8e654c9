// Values with groups along channels: a scale per token and set of channels is folded into the probabilities, page by page.

struct ValueRun {
  result: Rows,
}

// Probabilities with the scales of one set of channels; what decoding adds goes into `added`.
fn foldValues(shares: Rows, scales: vec4<f32>, zeros: vec4<f32>, added: ptr<function, vec4<f32>>) -> Rows {
  // A slot that holds no token may hold any scale.
  let folded = Rows(
    hidden(shares.a, scales.x), hidden(shares.b, scales.y), hidden(shares.c, scales.z), hidden(shares.d, scales.w),
  );
  *added += value_offset * (folded.a + folded.b + folded.c + folded.d);
  if (value_hasZero) {
    *added += hidden(shares.a, zeros.x) + hidden(shares.b, zeros.y) + hidden(shares.c, zeros.z) + hidden(shares.d, zeros.w);
  }
  return folded;
}

fn largestRows(rows: Rows) -> vec4<f32> {
  return max(max(abs(rows.a), abs(rows.b)), max(abs(rows.c), abs(rows.d)));
}

fn storeValueParts(folded: Rows, factors: vec4<f32>, group: u32, lane: u32) {
  let bytes = partsOf(transposed(folded), factors);
  parts[SPARE_SET + group][lane] = bytes.high;
  if (PARTS == 2u) {
    parts[SPARE_SET + VALUE_SETS + group][lane] = bytes.low;
  }
}

fn valueDots(page: u32, shares: Rows, constants: ptr<function, Rows>, lane: u32) -> Rows {
  // By set of channels, a vector over the tokens of the lane.
  let scales = transposed(value_tokenParameters(page + value_scaleWord / 4u, lane));
  var zeros = Rows();
  if (value_hasZero) {
    zeros = transposed(value_tokenParameters(page + value_zeroWord / 4u, lane));
  }
  let a = foldValues(shares, scales.a, zeros.a, &(*constants).a);
  var largest = largestRows(a);
  if (VALUE_SETS == 1u) {
    largest = largestOfLanes(largest, lane);
    storeValueParts(a, factorsOf(largest), 0u, lane);
  } else if (VALUE_SETS == 2u) {
    let b = foldValues(shares, scales.b, zeros.b, &(*constants).b);
    largest = largestOfLanes(max(largest, largestRows(b)), lane);
    let factors = factorsOf(largest);
    storeValueParts(a, factors, 0u, lane);
    storeValueParts(b, factors, 1u, lane);
  } else {
    let b = foldValues(shares, scales.b, zeros.b, &(*constants).b);
    let c = foldValues(shares, scales.c, zeros.c, &(*constants).c);
    let d = foldValues(shares, scales.d, zeros.d, &(*constants).d);
    largest = largestOfLanes(max(max(largest, largestRows(b)), max(largestRows(c), largestRows(d))), lane);
    let factors = factorsOf(largest);
    storeValueParts(a, factors, 0u, lane);
    storeValueParts(b, factors, 1u, lane);
    storeValueParts(c, factors, 2u, lane);
    storeValueParts(d, factors, 3u, lane);
  }
  workgroupBarrier();
  var run: ValueRun;
  value_run(&run, page, lane * VALUE_SETS / LANES, lane);
  let factor = largest * (value_slope / LARGEST_PART);
  let numbers = run.result;
  return transposed(Rows(numbers.a * factor, numbers.b * factor, numbers.c * factor, numbers.d * factor));
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

fn value_group(run: ptr<function, ValueRun>, sums: Sums, group: u32) {
  (*run).result = numbersOf(sums);
}

fn hidden(share: vec4<f32>, parameter: f32) -> vec4<f32> {
  return select(share * parameter, vec4<f32>(0.0), share == vec4<f32>(0.0));
}
