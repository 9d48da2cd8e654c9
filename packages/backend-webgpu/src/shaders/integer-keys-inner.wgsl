// Keys with groups along channels: the query becomes integers once, scales of tokens multiply sums over a group.

struct FixedKeys {
  factors: array<vec4<f32>, KEY_GROUPS>,
  // Sums of the query over the channels of a group.
  totals: array<vec4<f32>, KEY_GROUPS>,
}

fn prepareKeys(query: Rows, lane: u32) -> FixedKeys {
  var fixed: FixedKeys;
  let own = lane * KEY_GROUPS / LANES;
  var factor = vec4<f32>(0.0);
  let ones = vec4<f32>(1.0);
  for (var group = 0u; group < KEY_GROUPS; group += 1u) {
    let mine = own == group;
    let largest = largestOfLanes(
      select(
        vec4<f32>(0.0),
        vec4<f32>(largestOf(query.a), largestOf(query.b), largestOf(query.c), largestOf(query.d)),
        mine,
      ),
      lane,
    );
    fixed.totals[group] = sumOfLanes(
      select(
        vec4<f32>(0.0),
        vec4<f32>(dot(query.a, ones), dot(query.b, ones), dot(query.c, ones), dot(query.d, ones)),
        mine,
      ),
      lane,
    );
    fixed.factors[group] = largest * (key_slope / LARGEST_PART);
    factor = select(factor, factorsOf(largest), mine);
  }
  let parts = partsOf(query, factor);
  for (var part = 0u; part < PARTS; part += 1u) {
    key_parts[part * LANES + lane] = parts[part];
  }
  return fixed;
}

fn keyDots(page: u32, query: Rows, fixed: FixedKeys, lane: u32) -> Rows {
  let scales = key_tokenParameters(page + key_scaleWord / 4u, lane);
  var zeros = Rows();
  if (key_hasZero) {
    zeros = key_tokenParameters(page + key_zeroWord / 4u, lane);
  }
  var result = Rows();
  const words = DIM / KEY_GROUPS / key_codesPerWord;
  for (var group = 0u; group < KEY_GROUPS; group += 1u) {
    let sums = numbersOf(key_sums(page, group * words, (group + 1u) * words, 0u, lane));
    let factor = fixed.factors[group];
    let total = fixed.totals[group];
    result.a += scales.a[group] * (sums.a * factor + key_offset * total) + zeros.a[group] * total;
    result.b += scales.b[group] * (sums.b * factor + key_offset * total) + zeros.b[group] * total;
    result.c += scales.c[group] * (sums.c * factor + key_offset * total) + zeros.c[group] * total;
    result.d += scales.d[group] * (sums.d * factor + key_offset * total) + zeros.d[group] * total;
  }
  return result;
}
