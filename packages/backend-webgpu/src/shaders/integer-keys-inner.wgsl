// Keys with groups along channels: the query becomes integers once, scales of tokens multiply sums over a group.

// By group of channels: what its sums are worth, and the sum of its query.
var<workgroup> key_factors: array<vec4<f32>, KEY_GROUPS>;
var<workgroup> key_totals: array<vec4<f32>, KEY_GROUPS>;

struct KeyRun {
  result: Rows,
  scales: Rows,
  zeros: Rows,
}

fn prepareKeys(query: Rows, lane: u32) {
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
    let total = sumOfLanes(
      select(
        vec4<f32>(0.0),
        vec4<f32>(dot(query.a, ones), dot(query.b, ones), dot(query.c, ones), dot(query.d, ones)),
        mine,
      ),
      lane,
    );
    if (lane == 0u) {
      key_factors[group] = largest * (key_slope / LARGEST_PART);
      key_totals[group] = total;
    }
    factor = select(factor, factorsOf(largest), mine);
  }
  let bytes = partsOf(query, factor);
  parts[0][lane] = bytes.high;
  if (PARTS == 2u) {
    parts[PARTS - 1u][lane] = bytes.low;
  }
}

fn keyDots(page: u32, lane: u32) -> Rows {
  var run: KeyRun;
  run.scales = key_tokenParameters(page + key_scaleWord / 4u, lane);
  if (key_hasZero) {
    run.zeros = key_tokenParameters(page + key_zeroWord / 4u, lane);
  }
  key_run(&run, page, 0u, lane);
  return run.result;
}

fn key_group(run: ptr<function, KeyRun>, sums: Sums, group: u32) {
  let numbers = numbersOf(sums);
  let factor = key_factors[group];
  let total = key_totals[group];
  let scales = (*run).scales;
  (*run).result.a += scales.a[group] * (numbers.a * factor + key_offset * total);
  (*run).result.b += scales.b[group] * (numbers.b * factor + key_offset * total);
  (*run).result.c += scales.c[group] * (numbers.c * factor + key_offset * total);
  (*run).result.d += scales.d[group] * (numbers.d * factor + key_offset * total);
  if (key_hasZero) {
    let zeros = (*run).zeros;
    (*run).result.a += zeros.a[group] * total;
    (*run).result.b += zeros.b[group] * total;
    (*run).result.c += zeros.c[group] * total;
    (*run).result.d += zeros.d[group] * total;
  }
}
