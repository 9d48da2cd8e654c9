// Keys with groups along tokens: a scale per channel and set of tokens is folded into the query, page by page.

struct FixedKeys {
  unused: u32,
}

struct KeyRun {
  result: Rows,
}

fn prepareKeys(query: Rows, lane: u32) -> FixedKeys {
  return FixedKeys(0u);
}

fn keyDots(page: u32, query: Rows, fixed: FixedKeys, lane: u32) -> Rows {
  let words = key_load(page, 0u, lane);
  let own = lane * KEY_SETS / LANES;
  var factor = vec4<f32>(0.0);
  var bias = vec4<f32>(0.0);
  for (var group = 0u; group < KEY_SETS; group += 1u) {
    let scale = key_channelParameters(page + key_scaleWord / 4u, group, lane);
    var offsets = key_offset * scale;
    if (key_hasZero) {
      offsets += key_channelParameters(page + key_zeroWord / 4u, group, lane);
    }
    let folded = Rows(query.a * scale, query.b * scale, query.c * scale, query.d * scale);
    let added = sumOfLanes(
      vec4<f32>(dot(query.a, offsets), dot(query.b, offsets), dot(query.c, offsets), dot(query.d, offsets)), lane,
    );
    let largest = largestOfLanes(
      vec4<f32>(largestOf(folded.a), largestOf(folded.b), largestOf(folded.c), largestOf(folded.d)), lane,
    );
    let mine = own == group;
    factor = select(factor, largest * (key_slope / LARGEST_PART), mine);
    bias = select(bias, added, mine);
    let parts = partsOf(folded, factorsOf(largest));
    key_parts[group * LANES + lane] = parts.high;
    if (PARTS == 2u) {
      key_parts[(KEY_SETS + group) * LANES + lane] = parts.low;
    }
  }
  workgroupBarrier();
  var run: KeyRun;
  key_run(&run, page, words, own, lane);
  let numbers = run.result;
  return Rows(
    numbers.a * factor + bias, numbers.b * factor + bias, numbers.c * factor + bias, numbers.d * factor + bias,
  );
}

fn key_group(run: ptr<function, KeyRun>, sums: Sums, group: u32) {
  (*run).result = numbersOf(sums);
}
