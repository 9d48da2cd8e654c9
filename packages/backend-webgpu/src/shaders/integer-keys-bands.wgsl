// Keys with outlier bands: the query becomes integers once; maxima of tokens multiply sums over codes, the distance of the two
// thresholds next to the inner band sums over sides.

fn keyDots(slots: Slots, lane: u32, inPages: bool) -> Rows {
  holdWeights(lane, transposed(packedQuery(lane)));
  let maxima = key_ofTokens(slots.page, key_middleWord, lane);
  let edges = key_edges();
  let isClosed = key_isClosed(slots.page);
  let entries = key_entriesOf(slots.page, lane);
  let numbers = key_run(slots.page, lane);
  let total = key_totals[0];
  // Codes are measured from their middle.
  let centre = key_offsets - vec4<f32>(7.5);
  let widths = (edges.z - edges.y) * key_sideSlopes;
  let ones = vec4<f32>(edges.y) + select(vec4<f32>(0.0), vec4<f32>(edges.z - edges.y), key_isTop);
  let scales = 0.125 * maxima;
  let factor = key_factor;
  let dots = Rows(
    factor * bandDot(numbers.codes.a, numbers.sides.a, total, scales.x, key_slopes.x, centre.x, widths.x, ones.x),
    factor * bandDot(numbers.codes.b, numbers.sides.b, total, scales.y, key_slopes.y, centre.y, widths.y, ones.y),
    factor * bandDot(numbers.codes.c, numbers.sides.c, total, scales.z, key_slopes.z, centre.z, widths.z, ones.z),
    factor * bandDot(numbers.codes.d, numbers.sides.d, total, scales.w, key_slopes.w, centre.w, widths.w, ones.w),
  );
  workgroupBarrier();
  return summed(dots, key_outliers(slots, isClosed, entries, lane));
}

fn bandDot(
  codes: vec4<f32>, sides: vec4<f32>, total: vec4<f32>, scale: f32, slope: f32, centre: f32, width: f32, one: f32,
) -> vec4<f32> {
  return (scale * slope) * codes + width * sides + (scale * centre + one) * total;
}
