// Steps on a query that cancel the transforms of keys, docs/law.md 7.

fn statisticOf(page: u32, plane: u32, head: u32, channel: u32) -> f32 {
  let index = page + (plane * key_heads + head) * key_headDim + channel;
  return f16Value(halfAt(memory[index / 2u], index));
}

fn scaleQuery(head: u32, page: u32, plane: u32, lane: u32) {
  for (var channel = lane; channel < key_headDim; channel += QUERY_SIZE) {
    row_values[channel] *= 1.0 / statisticOf(page, plane, head, channel);
  }
  workgroupBarrier();
}

// A mean taken from the keys comes back as a constant of the query.
fn centreQuery(head: u32, page: u32, plane: u32, lane: u32) {
  var sum = 0.0;
  for (var channel = lane; channel < key_headDim; channel += QUERY_SIZE) {
    sum += row_values[channel] * statisticOf(page, plane, head, channel);
  }
  terms[lane] = sum;
  workgroupBarrier();
  if (lane == 0u) {
    var total = 0.0;
    for (var i = 0u; i < QUERY_SIZE; i += 1u) {
      total += terms[i];
    }
    added += total;
  }
  workgroupBarrier();
}

fn rotateQuery(lane: u32) {
  for (var stride = 1u; stride < key_headDim; stride *= 2u) {
    for (var pair = lane; pair < key_headDim / 2u; pair += QUERY_SIZE) {
      let first = (pair / stride) * 2u * stride + pair % stride;
      let a = row_values[first];
      let b = row_values[first + stride];
      row_values[first] = a + b;
      row_values[first + stride] = a - b;
    }
    workgroupBarrier();
  }
  for (var channel = lane; channel < key_headDim; channel += QUERY_SIZE) {
    row_values[channel] *= key_rotationFactor;
  }
  workgroupBarrier();
}
