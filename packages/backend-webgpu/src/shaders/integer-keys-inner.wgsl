// Keys with groups along channels: the query becomes integers once, scales of tokens multiply sums over a group.

struct KeyRun {
  result: Rows,
  scales: Rows,
  zeros: Rows,
}

fn keyDots(slots: Slots, lane: u32, inPages: bool) -> Rows {
  var run = KeyRun(Rows(), key_tokenParameters(slots.page + key_scaleWord / 4u, lane), Rows());
  if (key_hasZero) {
    run.zeros = key_tokenParameters(slots.page + key_zeroWord / 4u, lane);
  }
  key_run(&run, slots.page, 0u, lane, inPages);
  let factor = key_factor;
  let numbers = run.result;
  return Rows(numbers.a * factor, numbers.b * factor, numbers.c * factor, numbers.d * factor);
}

fn key_group(run: ptr<function, KeyRun>, sums: Sums, group: u32) {
  let numbers = key_numbers(sums);
  let total = key_totals[group];
  let scales = (*run).scales;
  (*run).result.a += (scales.a[group] * key_slopes.x) * offsetBy(numbers.a, key_offsets.x / key_slopes.x, total);
  (*run).result.b += (scales.b[group] * key_slopes.y) * offsetBy(numbers.b, key_offsets.y / key_slopes.y, total);
  (*run).result.c += (scales.c[group] * key_slopes.z) * offsetBy(numbers.c, key_offsets.z / key_slopes.z, total);
  (*run).result.d += (scales.d[group] * key_slopes.w) * offsetBy(numbers.d, key_offsets.w / key_slopes.w, total);
  if (key_hasZero) {
    let zeros = (*run).zeros;
    (*run).result.a += zeros.a[group] * total;
    (*run).result.b += zeros.b[group] * total;
    (*run).result.c += zeros.c[group] * total;
    (*run).result.d += zeros.d[group] * total;
  }
}
