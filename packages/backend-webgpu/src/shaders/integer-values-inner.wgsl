// Values with groups along tokens: probabilities become integers once a page, scales of channels multiply sums over a group.

// Sums of the integers, by group of tokens.
var<workgroup> value_totals: array<vec4<f32>, VALUE_GROUPS>;

// Whether sums are needed at all.
const value_hasTotals = value_hasZero || value_lowOffset != 0.0 || value_topOffset != 0.0;

struct ValueRun {
  // By channel of the lane, a vector over rows.
  result: Rows,
  slots: Slots,
  lane: u32,
}

fn valueDots(slots: Slots, shares: Rows, constants: ptr<function, Rows>, lane: u32, inPages: bool) -> Rows {
  let largest = largestOfLanes(max(max(shares.a, shares.b), max(shares.c, shares.d)), lane);
  let bytes = unsignedParts(integersOf(transposed(shares), factorsOf(largest, LARGEST_UNSIGNED)));
  parts[SPARE_SET * SET + lane] = bytes.high;
  if (PARTS == 2u) {
    parts[(SPARE_SET + PARTS - 1u) * SET + lane] = bytes.low;
  }
  workgroupBarrier();
  if (value_hasTotals) {
    if (lane < VALUE_GROUPS) {
      value_totals[lane] = totalsOf(SPARE_SET, VALUE_GROUPS, lane, false);
    }
    workgroupBarrier();
  }
  var run = ValueRun(Rows(), slots, lane);
  value_run(&run, slots.page, 0u, lane, inPages);
  let factor = largest * (1.0 / LARGEST_UNSIGNED);
  let numbers = run.result;
  return transposed(Rows(numbers.a * factor, numbers.b * factor, numbers.c * factor, numbers.d * factor));
}

// Everything is in the sums already.
fn constantsOf(constants: Rows, lane: u32) -> vec4<f32> {
  return vec4<f32>(0.0);
}

fn value_group(run: ptr<function, ValueRun>, sums: Sums, group: u32) {
  let page = (*run).slots.page;
  let held = holdsGroup((*run).slots, group, VALUE_GROUPS);
  let scale = value_slopes *
    select(vec4<f32>(0.0), value_channelParameters(page + value_scaleWord / 4u, group, (*run).lane), held);
  let numbers = value_numbers(sums);
  var total = vec4<f32>(0.0);
  if (value_hasTotals) {
    total = value_totals[group];
  }
  (*run).result.a += scale.x * offsetBy(numbers.a, value_offsets.x / value_slopes.x, total);
  (*run).result.b += scale.y * offsetBy(numbers.b, value_offsets.y / value_slopes.y, total);
  (*run).result.c += scale.z * offsetBy(numbers.c, value_offsets.z / value_slopes.z, total);
  (*run).result.d += scale.w * offsetBy(numbers.d, value_offsets.w / value_slopes.w, total);
  if (value_hasZero) {
    let zero = select(vec4<f32>(0.0), value_channelParameters(page + value_zeroWord / 4u, group, (*run).lane), held);
    (*run).result.a += zero.x * total;
    (*run).result.b += zero.y * total;
    (*run).result.c += zero.z * total;
    (*run).result.d += zero.w * total;
  }
}
