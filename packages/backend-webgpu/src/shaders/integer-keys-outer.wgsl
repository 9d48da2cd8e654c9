// Keys with groups along tokens: a scale per channel and set of tokens is folded into the query, page by page.

struct FixedKeys {
  unused: u32,
}

fn prepareKeys(query: Rows, lane: u32) -> FixedKeys {
  return FixedKeys(0u);
}

fn keyDots(page: u32, query: Rows, fixed: FixedKeys, lane: u32) -> Rows {
  var factors: array<vec4<f32>, KEY_SETS>;
  var biases: array<vec4<f32>, KEY_SETS>;
  for (var group = 0u; group < KEY_SETS; group += 1u) {
    let scale = key_channelParameters(page + key_scaleWord / 4u, group, lane);
    var offsets = key_offset * scale;
    if (key_hasZero) {
      offsets += key_channelParameters(page + key_zeroWord / 4u, group, lane);
    }
    let folded = Rows(query.a * scale, query.b * scale, query.c * scale, query.d * scale);
    biases[group] = sumOfLanes(
      vec4<f32>(dot(query.a, offsets), dot(query.b, offsets), dot(query.c, offsets), dot(query.d, offsets)), lane,
    );
    let largest = largestOfLanes(
      vec4<f32>(largestOf(folded.a), largestOf(folded.b), largestOf(folded.c), largestOf(folded.d)), lane,
    );
    factors[group] = largest * (key_slope / LARGEST_PART);
    let parts = partsOf(folded, factorsOf(largest));
    for (var part = 0u; part < PARTS; part += 1u) {
      key_parts[(part * KEY_SETS + group) * LANES + lane] = parts[part];
    }
  }
  workgroupBarrier();
  let own = lane * KEY_SETS / LANES;
  let sums = numbersOf(key_sums(page, 0u, DIM / key_codesPerWord, own, lane));
  let factor = factors[own];
  let bias = biases[own];
  return Rows(sums.a * factor + bias, sums.b * factor + bias, sums.c * factor + bias, sums.d * factor + bias);
}
