// Values with groups along tokens: probabilities become integers once a page, scales of channels multiply sums over a group.

struct ValueRun {
  // By channel of the lane, a vector over rows.
  result: Rows,
  added: Rows,
  // Probabilities of the lane's tokens together.
  shares: vec4<f32>,
  page: u32,
  lane: u32,
}

fn valueDots(
  page: u32, shares: Rows, constants: ptr<function, Rows>, lane: u32,
) -> Rows {
  let largest = largestOfLanes(max(max(shares.a, shares.b), max(shares.c, shares.d)), lane);
  let bytes = partsOf(transposed(shares), factorsOf(largest));
  parts[SPARE_SET][lane] = bytes.high;
  if (PARTS == 2u) {
    parts[SPARE_SET + PARTS - 1u][lane] = bytes.low;
  }
  workgroupBarrier();
  var run: ValueRun;
  run.shares = shares.a + shares.b + shares.c + shares.d;
  run.page = page;
  run.lane = lane;
  value_run(&run, page, 0u, lane);
  let factor = largest * (value_slope / LARGEST_PART);
  let numbers = run.result;
  let added = run.added;
  return transposed(
    Rows(
      numbers.a * factor + added.a, numbers.b * factor + added.b,
      numbers.c * factor + added.c, numbers.d * factor + added.d,
    ),
  );
}

// Everything is in the sums already.
fn constantsOf(constants: Rows, lane: u32) -> vec4<f32> {
  return vec4<f32>(0.0);
}

fn value_group(run: ptr<function, ValueRun>, sums: Sums, group: u32) {
  let lane = (*run).lane;
  let scale = value_channelParameters((*run).page + value_scaleWord / 4u, group, lane);
  let numbers = numbersOf(sums);
  (*run).result.a += hiddenBy(numbers.a, scale.x);
  (*run).result.b += hiddenBy(numbers.b, scale.y);
  (*run).result.c += hiddenBy(numbers.c, scale.z);
  (*run).result.d += hiddenBy(numbers.d, scale.w);
  if (value_hasZero || value_offset != 0.0) {
    addConstants(run, scale, group);
  }
}

fn addConstants(run: ptr<function, ValueRun>, scale: vec4<f32>, group: u32) {
  let lane = (*run).lane;
  var offsets = value_offset * scale;
  if (value_hasZero) {
    offsets += value_channelParameters((*run).page + value_zeroWord / 4u, group, lane);
  }
  let mine = lane * VALUE_GROUPS / LANES == group;
  let total = sumOfLanes(select(vec4<f32>(0.0), (*run).shares, mine), lane);
  (*run).added.a += hiddenBy(total, offsets.x);
  (*run).added.b += hiddenBy(total, offsets.y);
  (*run).added.c += hiddenBy(total, offsets.z);
  (*run).added.d += hiddenBy(total, offsets.w);
}

// A group without tokens in sight may hold any parameters.
fn hiddenBy(numbers: vec4<f32>, scale: f32) -> vec4<f32> {
  return select(numbers * scale, vec4<f32>(0.0), numbers == vec4<f32>(0.0));
}
