// Values with groups along channels: a scale per token and set of channels is folded into the probabilities, page by page.

struct ValueRun {
  result: Rows,
}

fn valueDots(
  page: u32, words: value_Words, shares: Rows, constants: ptr<function, vec4<f32>>, lane: u32,
) -> Rows {
  let scales = value_tokenParameters(page + value_scaleWord / 4u, lane);
  var zeros = Rows();
  if (value_hasZero) {
    zeros = value_tokenParameters(page + value_zeroWord / 4u, lane);
  }
  let own = lane * VALUE_SETS / LANES;
  var factor = vec4<f32>(0.0);
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
    let largest = largestOfLanes(max(max(abs(folded.a), abs(folded.b)), max(abs(folded.c), abs(folded.d))), lane);
    let total = sumOfLanes(added, lane);
    let mine = own == group;
    factor = select(factor, largest * (value_slope / LARGEST_PART), mine);
    *constants += select(vec4<f32>(0.0), total, mine);
    let parts = partsOf(transposed(folded), factorsOf(largest));
    value_parts[group * LANES + lane] = parts.high;
    if (PARTS == 2u) {
      value_parts[(VALUE_SETS + group) * LANES + lane] = parts.low;
    }
  }
  workgroupBarrier();
  var run: ValueRun;
  value_run(&run, page, words, own, lane);
  let numbers = run.result;
  return transposed(Rows(numbers.a * factor, numbers.b * factor, numbers.c * factor, numbers.d * factor));
}

fn value_group(run: ptr<function, ValueRun>, sums: Sums, group: u32) {
  (*run).result = numbersOf(sums);
}

fn hidden(share: vec4<f32>, parameter: f32) -> vec4<f32> {
  return select(share * parameter, vec4<f32>(0.0), share == vec4<f32>(0.0));
}
