// Values with groups along channels: a scale per token and set of channels is folded into the probabilities, page by page.

fn valueDots(
  page: u32, shares: Rows, constants: ptr<function, array<vec4<f32>, VALUE_SETS>>, lane: u32,
) -> Rows {
  let scales = value_tokenParameters(page + value_scaleWord / 4u, lane);
  var zeros = Rows();
  if (value_hasZero) {
    zeros = value_tokenParameters(page + value_zeroWord / 4u, lane);
  }
  var factors: array<vec4<f32>, VALUE_SETS>;
  for (var group = 0u; group < VALUE_SETS; group += 1u) {
    // A slot that holds no token may hold any scale.
    let folded = Rows(
      hidden(shares.a, scales.a[group]), hidden(shares.b, scales.b[group]),
      hidden(shares.c, scales.c[group]), hidden(shares.d, scales.d[group]),
    );
    var added = value_offset * (folded.a + folded.b + folded.c + folded.d);
    if (value_hasZero) {
      added += hidden(shares.a, zeros.a[group]) + hidden(shares.b, zeros.b[group]) +
        hidden(shares.c, zeros.c[group]) + hidden(shares.d, zeros.d[group]);
    }
    (*constants)[group] += added;
    let largest = largestOfLanes(max(max(abs(folded.a), abs(folded.b)), max(abs(folded.c), abs(folded.d))), lane);
    factors[group] = largest * (value_slope / LARGEST_PART);
    let parts = partsOf(transposed(folded), factorsOf(largest));
    for (var part = 0u; part < PARTS; part += 1u) {
      value_parts[(part * VALUE_SETS + group) * LANES + lane] = parts[part];
    }
  }
  workgroupBarrier();
  let own = lane * VALUE_SETS / LANES;
  let sums = numbersOf(value_sums(page, 0u, PAGE / value_codesPerWord, own, lane));
  return transposed(Rows(sums.a * factors[own], sums.b * factors[own], sums.c * factors[own], sums.d * factors[own]));
}

fn hidden(share: vec4<f32>, parameter: f32) -> vec4<f32> {
  return select(share * parameter, vec4<f32>(0.0), share == vec4<f32>(0.0));
}
