// A mean taken from the keys comes back as a constant of the query: the lanes add up their terms.

fn addConstant(term: f32, lane: u32) {
  terms[lane] = term;
  workgroupBarrier();
  if (lane == 0u) {
    var total = 0.0;
    for (var i = 0u; i < ROW_SIZE; i += 1u) {
      total += terms[i];
    }
    added += total;
  }
  workgroupBarrier();
}
