// Values with groups along tokens: probabilities become integers once a page, scales of channels multiply sums over a group.

fn valueDots(
  page: u32, shares: Rows, constants: ptr<function, array<vec4<f32>, VALUE_SETS>>, lane: u32,
) -> Rows {
  let largest = largestOfLanes(max(max(shares.a, shares.b), max(shares.c, shares.d)), lane);
  let parts = partsOf(transposed(shares), factorsOf(largest));
  for (var part = 0u; part < PARTS; part += 1u) {
    value_parts[part * LANES + lane] = parts[part];
  }
  workgroupBarrier();
  let factor = largest * (value_slope / LARGEST_PART);
  const words = PAGE / VALUE_GROUPS / value_codesPerWord;
  var result = Rows();
  for (var group = 0u; group < VALUE_GROUPS; group += 1u) {
    let total = sumOfGroup(shares, group, lane);
    // A group that holds no token in sight may hold any parameter.
    let shown = vec4<bool>(any(total > vec4<f32>(0.0)));
    let scale = select(vec4<f32>(0.0), value_channelParameters(page + value_scaleWord / 4u, group, lane), shown);
    var offsets = value_offset * scale;
    if (value_hasZero) {
      offsets += select(vec4<f32>(0.0), value_channelParameters(page + value_zeroWord / 4u, group, lane), shown);
    }
    let sums = transposed(numbersOf(value_sums(page, group * words, (group + 1u) * words, 0u, lane)));
    result.a += sums.a * factor.x * scale + total.x * offsets;
    result.b += sums.b * factor.y * scale + total.y * offsets;
    result.c += sums.c * factor.z * scale + total.z * offsets;
    result.d += sums.d * factor.w * scale + total.w * offsets;
  }
  return result;
}

// Probabilities of the tokens of a group together.
fn sumOfGroup(shares: Rows, group: u32, lane: u32) -> vec4<f32> {
  let own = shares.a + shares.b + shares.c + shares.d;
  return sumOfLanes(select(vec4<f32>(0.0), own, lane * VALUE_GROUPS / LANES == group), lane);
}
